"""Secrets are found where they usually are, and ordinary text is left alone."""

from __future__ import annotations

import json
import time

import pytest

from agentkit.core import secrets
from agentkit.core.secrets import mask, mask_json


@pytest.fixture(autouse=True)
def environment():
    secrets.refresh({})
    yield
    secrets.refresh()


SHAPES = [
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


@pytest.mark.parametrize(("token", "shown"), SHAPES)
@pytest.mark.parametrize("around", ["{}", "use {} now", '"{}"', "({})", "line\n{}\nline", "é{}."])
def test_the_usual_shapes_are_masked_wherever_they_stand(token, shown, around):
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
def test_what_is_secret_by_its_name_is_masked_and_the_name_stays(text, masked):
    assert mask(text) == masked


def test_a_private_key_is_masked_to_its_end_and_without_an_end_as_far_as_its_lines_go():
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
def test_ordinary_text_is_left_alone(text):
    assert mask(text) is text


def test_masking_twice_changes_nothing_more():
    for token, _ in SHAPES:
        text = f"{token} password='{token}' https://a:{token}@h/?token={token}\nAuthorization: Bearer {token}"
        assert mask(mask(text)) == mask(text)
        assert token[8:] not in mask(text)


def test_values_of_the_environment_that_look_like_keys_are_masked_by_name():
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
def test_values_that_are_no_secrets_are_not_taken_for_one(name, value):
    secrets.refresh({name: value})
    assert list(secrets.known()) == []


def test_nested_data_is_masked_keys_included_and_the_rest_is_the_same_object():
    token = SHAPES[0][0]
    clean = {"a": [1, None, {"b": "text"}], "n": 1.5}
    assert mask_json(clean) is clean
    dirty = {"a": (token, 1), token: {"password": "swordfish", "id": 7}}
    assert mask_json(dirty) == {"a": ("[secret sk-…]", 1), "[secret sk-…]": {"password": "[secret password]", "id": 7}}
    assert dirty["a"][0] == token


@pytest.mark.parametrize(
    "unit", ["sk-", "password=", "eyJaaaaaaaaa.", "://a:", "-----BEGIN PRIVATE KEY-----", "bearer ", "?a_", "x='"]
)
def test_a_megabyte_of_markers_takes_linear_time(unit):
    text = unit * (1_000_000 // len(unit)) + ":=@ token bearer -----BEGIN "
    start = time.perf_counter()
    mask(text)
    assert time.perf_counter() - start < 10  # about 0.2 s; what is quadratic takes minutes
