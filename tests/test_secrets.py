"""Secrets are detected where they usually occur, and ordinary text is left alone."""

from __future__ import annotations

import itertools
import json
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentkit.core import secrets
from agentkit.core.secrets import mask, mask_json


@pytest.fixture(autouse=True)
def environment():
    secrets.refresh({})
    yield
    secrets.refresh()


KEYS = [
    ("sk-ant-api03-" + "Ab1_" * 12, "[secret sk-…]"),
    ("sk-proj-" + "q9" * 20, "[secret sk-…]"),
    ("ghp_" + "a1B2" * 9, "[secret ghp_…]"),
    ("gho_" + "a1B2" * 9, "[secret gho_…]"),
    ("github_pat_" + "11AAB_c3" * 6, "[secret github_pat_…]"),
    ("xoxb-" + "123456789012-abcDEF", "[secret xoxb-…]"),
    ("AKIA" + "IOSFODNN7EXAMPLE", "[secret AKIA…]"),
    ("ASIA" + "IOSFODNN7EXAMPLE", "[secret ASIA…]"),
    ("AIza" + "Sy_a1b2c3" * 4, "[secret AIza…]"),
    ("hf_" + "abcDEFghiJ" * 3, "[secret hf_…]"),
    ("glpat-" + "x1y2z3-_" * 3, "[secret glpat-…]"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "[secret JWT]"),
]


@pytest.mark.parametrize(("token", "shown"), KEYS)
@pytest.mark.parametrize("around", ["{}", "use {} now", '"{}"', "({})", "line\n{}\nline", "é{}."])
def test_keys_in_common_formats_are_masked_wherever_they_occur(token, shown, around):
    assert mask(around.format(token)).rstrip(".") == around.format(shown).rstrip(".")


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer [secret authorization]"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [secret authorization]"),
        ('{"Authorization": "Bearer abcdefgh12345678"}', '{"Authorization": "Bearer [secret authorization]"}'),
        ("sent bearer abcdefgh12345678 to it", "sent bearer [secret bearer] to it"),
        ("postgres://ann:hunter2@db.example/x", "postgres://ann:[secret url password]@db.example/x"),
        ("https://ann:p@ss@example.org/x", "https://ann:[secret url password]@example.org/x"),
        ("the API key: abcd1234", "the API key: [secret api key]"),
        ("https://h/?q=1&api_key=abcdefgh&x=2", "https://h/?q=1&api_key=[secret api_key]&x=2"),
        ("GET /?access_token=abcdefgh", "GET /?access_token=[secret token]"),
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=[secret password]"),
        ("password: 'swordfish'", "password: '[secret password]'"),
        ('{"api_key": "swordfish"}', '{"api_key": "[secret api_key]"}'),
        (r'"{\"api_key\": \"swordfish\"}"', r'"{\"api_key\": \"[secret api_key]\"}"'),
    ],
)
def test_a_value_whose_name_suggests_a_secret_is_masked_and_the_name_stays(text, masked):
    assert mask(text) == masked


def test_a_private_key_is_masked_up_to_its_end_marker_or_its_last_line():
    body = "\n".join("MIIEpAIBAAKCAQEA7bq1x0" for _ in range(5))
    key = f"-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: AES-128\n\n{body}\n-----END RSA PRIVATE KEY-----"
    assert mask(f"see {key} there") == "see [secret private key] there"
    assert mask(json.dumps(key)) == '"[secret private key]"'
    cut = f"-----BEGIN PRIVATE KEY-----\n{body}\nThat was all."
    assert mask(cut) == "[secret private key]\nThat was all."


@pytest.mark.parametrize(
    "text",
    [
        "The secret of a good token economy is the key to it: patience, and bearer bonds.",
        "Password: you will be asked for it. Token: none",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "id 123e4567-e89b-12d3-a456-426614174000 at https://example.org/a:b/c?key=v",
        "max_tokens=4096 and token: 1234, usage tokens: 812",
        "password=getpass() and api_key=os.environ['X'] and token=tokenizer",
        "api_key='your-api-key-here' or password=<password>",
        "install sk-learn-contrib-something-longer from github.com/a/b",
        "eyJ is how tokens begin; hf_hub_download and ghp_ are prefixes",
        '{"token":{"type":"string","description":"the token"},"password":"The password of the account"}',
        'Action: search\nAction Input: {"query": "bearer of bad news"}',
        "meet ann@example.org: at 10:30 http://example.org",
    ],
)
def test_ordinary_text_is_not_masked(text):
    assert mask(text) is text


def test_masking_twice_changes_nothing_more():
    for token, _ in KEYS:
        text = f"{token} password='{token}' https://a:{token}@h/?token={token}\nAuthorization: Bearer {token}"
        assert mask(mask(text)) == mask(text)
        assert token[8:] not in mask(text)


def test_environment_variables_that_look_like_keys_are_masked_by_name():
    secrets.refresh({"ACME_API_KEY": 'zebra"crossing', "BUILD_TOKEN": "zebra-and-more", "HOME": "zebra-lane-12"})
    assert mask('a zebra"crossing, a zebra-and-more') == "a [secret ACME_API_KEY], a [secret BUILD_TOKEN]"
    assert mask(json.dumps({"x": 'zebra"crossing'})) == '{"x": "[secret ACME_API_KEY]"}'
    assert mask("zebra-lane-12") == "zebra-lane-12"
    assert list(secrets.known()) == ["ACME_API_KEY", "BUILD_TOKEN"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SSH_AUTH_SOCK", "/tmp/ssh-agent/socket"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "~/keys/google.json"),
        ("USE_AUTH", "disabled"),
        ("MAX_TOKENS", "100000000"),
        ("SHORT_KEY", "abc1234"),
        ("AUTH_URL_KEY", "https://example.org/login"),
        ("KEYBOARD", "qwerty-layout"),
    ],
)
def test_environment_variables_that_are_not_secrets_are_not_masked(name, value):
    secrets.refresh({name: value})
    assert list(secrets.known()) == []


def test_nested_data_is_masked_with_its_keys_and_data_without_secrets_is_the_same_object():
    token = KEYS[0][0]
    clean = {"a": [1, None, {"b": "text"}], "n": 1.5}
    assert mask_json(clean) is clean
    dirty = {"a": (token, 1), token: {"password": "swordfish", "id": 7}}
    assert mask_json(dirty) == {"a": ("[secret sk-…]", 1), "[secret sk-…]": {"password": "[secret password]", "id": 7}}
    assert dirty["a"][0] == token


def test_two_keys_that_look_the_same_once_masked_keep_their_values():
    first, second = "ghp_" + "a1B2" * 9, "ghp_" + "c3D4" * 9
    assert mask_json({first: 1, second: 2}) == {"[secret ghp_…]": 1, "[secret ghp_…] (2)": 2}


PRIVATE_KEY = "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----".format(
    "\n".join("MIIEpAIBAAKCAQEA7bq1x0" * 3 for _ in range(12))
)


def test_a_key_right_after_a_private_key_is_masked():
    assert mask(PRIVATE_KEY + KEYS[0][0]) == "[secret private key][secret sk-…]"


SECRETS = {
    "MIIEpAIBAAKCAQEA": PRIVATE_KEY,
    "AAKCAQEA7bq1x0MI": PRIVATE_KEY.replace("KEY-----\n", "KEY-----\nDEK-Info: AES-128\n\n", 1),
    "c2lnbmF0dXJl": f"eyJhbGciOiJIUzI1NiJ9.{'eyJz' * 400}.c2lnbmF0dXJl",
    "horse battery": "correct horse battery staple",
    "Ab1_Ab1_": KEYS[0][0],
    "swordfish": "password='swordfish'",
    "hunter2x": "postgres://ann:hunter2x@db.example/x",
    "abcdefgh12345678": "Authorization: Bearer abcdefgh12345678",
}


def stream(text, cuts):
    masked = secrets.Stream()
    ends = [*sorted(cut for cut in cuts if cut < len(text)), len(text)]
    return "".join(masked.add(text[a:b]) for a, b in itertools.pairwise([0, *ends])) + masked.end()


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(list(SECRETS)),
    st.sampled_from(["", "The key: ", "x\n"]),
    st.sampled_from(["", " and more", "more", ".\n"]),
    st.lists(st.integers(0, 2_000), max_size=60),
)
def test_a_secret_is_masked_wherever_the_stream_is_cut(name, before, after, cuts):
    secrets.refresh({"PASSPHRASE": "correct horse battery staple"})
    text = before + SECRETS[name] + after
    assert name not in mask(text)
    assert name not in stream(text, cuts)


@given(st.text("ab .,\n-_:=@/\"'B{}", max_size=400), st.lists(st.integers(0, 400), max_size=20))
def test_a_stream_without_secrets_passes_unchanged(text, cuts):
    assume(mask(text) == text)
    assert stream(text, cuts) == text


@pytest.mark.parametrize(
    "unit", ["a", "a ", "-----BEGIN X\n", "-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----"]
)
def test_a_long_stream_takes_linear_time(unit):
    text = "-----BEGIN PRIVATE KEY-----\n" + unit * (200_000 // len(unit))
    start = time.process_time()
    assert stream(text, range(0, len(text), 7)) and stream(text * 5, ())
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    "unit", ["sk-", "password=", "eyJaaaaaaaaa.", "://a:", "-----BEGIN PRIVATE KEY-----", "bearer ", "?a_", "x='"]
)
def test_a_megabyte_of_markers_takes_linear_time(unit):
    text = unit * (1_000_000 // len(unit)) + ":=@ token bearer -----BEGIN "
    start = time.perf_counter()
    mask(text)
    assert time.perf_counter() - start < 10  # about 0.2 s; quadratic time would take minutes
