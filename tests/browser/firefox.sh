#!/usr/bin/env bash
# Download Debian's Firefox, with the libraries that this machine lacks, and unpack both into a folder. Nothing is installed.
set -euo pipefail
if ! command -v apt-get > /dev/null; then
  echo "The tests need Firefox; install it first, or name it: make test FIREFOX=/path/to/firefox" >&2
  exit 1
fi
rm -rf "$1"
mkdir -p "$1/lists/partial" "$1/archives/partial" "$1/root"
cd "$1"
own=(-o "Dir::State::lists=$PWD/lists" -o "Dir::Cache=$PWD" -o "Dir::Cache::archives=$PWD/archives")
own+=(-o Debug::NoLocking=1 -o APT::Sandbox::User= -qq)
apt-get "${own[@]}" update
apt-get "${own[@]}" install --yes --download-only --no-install-recommends firefox-esr
for package in archives/*.deb; do dpkg-deb --extract "$package" root; done
rm -rf lists archives ./*.bin
