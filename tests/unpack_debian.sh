#!/usr/bin/env bash
# Download packages of Debian, with the libraries that this machine lacks, and unpack them into a folder. Nothing is
# installed, and it needs no root.
#
#     bash tests/unpack_debian.sh "PACKAGE ..." FOLDER
set -euo pipefail
if ! command -v apt-get > /dev/null; then
  echo "The tests need the program $1; install it first" >&2
  exit 1
fi
rm -rf "$2"
mkdir -p "$2/lists/partial" "$2/archives/partial" "$2/root"
cd "$2"
own=(-o "Dir::State::lists=$PWD/lists" -o "Dir::Cache=$PWD" -o "Dir::Cache::archives=$PWD/archives")
own+=(-o Debug::NoLocking=1 -o APT::Sandbox::User= -qq)
apt-get "${own[@]}" update
apt-get "${own[@]}" install --yes --download-only --no-install-recommends $1 # several words are several packages
for package in archives/*.deb; do dpkg-deb --extract "$package" root; done
rm -rf lists archives ./*.bin
