"""Fake secrets of every shape, assembled here so that no file of the repository contains a text that looks like one."""

from __future__ import annotations

import random
import string
from dataclasses import dataclass

LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
PLAIN = string.ascii_letters + string.digits
WORD = PLAIN + "_-"
HEX = "0123456789abcdef"
BASE64 = PLAIN + "+/"


def some(size: int, characters: str = PLAIN) -> str:
    """Return random characters, the same for the same arguments; a digit and a capital letter are among them."""
    chosen = random.Random(f"{size} {characters}").choices(characters, k=size)
    chosen[size // 2] = "7"
    return "".join(chosen)


@dataclass(frozen=True)
class Fake:
    """A fake secret: `head` may be shown, `secret` must not, and `tail` follows it."""

    name: str
    secret: str
    head: str = ""
    tail: str = ""

    @property
    def text(self) -> str:
        return self.head + self.secret + self.tail


def _pem(mark: str, *, fields: str = "", end: str = "\n", dashes: str = "-----") -> str:
    space = " " if dashes == "----" else ""
    lines = end.join(some(64 - row % 2, BASE64) for row in range(12))
    name = f"{mark}PRIVATE KEY" + (" BLOCK" if "PGP" in mark else "")
    begin, over = f"{dashes}{space}BEGIN {name}{space}{dashes}", f"{dashes}{space}END {name}{space}{dashes}"
    return f"{begin}{end}{fields}{lines}{end}{some(9, BASE64)}={end}{over}"


def _jwt(size: int) -> str:
    return "e" + "yJ" + some(size) + ".e" + "yJ" + some(size, WORD) + "." + some(43, WORD)


KEYS = [
    Fake("OpenAI", some(74, WORD), "sk" + "-proj-"),
    Fake("Anthropic", some(93, WORD) + "AA", "sk" + "-ant-api03-"),
    Fake("Groq", some(52), "gs" + "k_"),
    Fake("xAI", some(80), "xa" + "i-"),
    Fake("Hugging Face", some(34), "h" + "f_"),
    Fake("Replicate", some(37), "r" + "8_"),
    Fake("Perplexity", some(48), "pp" + "lx-"),
    Fake("NVIDIA", some(64, WORD), "nv" + "api-"),
    Fake("Fireworks", some(24), "f" + "w_"),
    Fake("LangSmith", some(32, HEX) + "_" + some(10, HEX), "ls" + "v2_pt_"),
    Fake("Pinecone", some(69), "pc" + "sk_"),
    Fake("Tavily", some(32), "tv" + "ly-"),
    Fake("GitHub", some(36), "gh" + "p_"),
    Fake("GitHub app", some(36), "gh" + "s_"),
    Fake("GitHub fine-grained", some(82, PLAIN), "git" + "hub_pat_"),
    Fake("GitLab", some(20, WORD), "gl" + "pat-"),
    Fake("GitLab, routable", some(27) + ".01." + some(9, LOWER), "gl" + "pat-"),
    Fake("GitLab deploy", some(20, WORD), "gl" + "dt-"),
    Fake("GitLab runner", some(20, WORD), "GR13" + "48941"),
    Fake("Bitbucket", some(32), "AT" + "BB"),
    Fake("Atlassian", some(186, WORD), "ATA" + "TT3"),
    Fake("npm", some(36), "np" + "m_"),
    Fake("PyPI", some(120, WORD), "py" + "pi-AgEIcHlwaS5vcmc"),
    Fake("RubyGems", some(48, HEX), "ruby" + "gems_"),
    Fake("NuGet", some(43, LOWER), "o" + "y2"),
    Fake("Docker Hub", some(27, WORD), "dckr" + "_pat_"),
    Fake("Artifactory", some(69), "AK" + "Cp"),
    Fake("Sourcegraph", some(40, HEX), "sg" + "p_"),
    Fake("Buildkite", some(40), "bk" + "ua_"),
    Fake("CircleCI", some(22) + "_" + some(40, HEX), "CCI" + "PAT_"),
    Fake("AWS", some(16, UPPER), "AK" + "IA"),
    Fake("AWS, temporary", some(16, UPPER), "AS" + "IA"),
    Fake("Google", some(35, WORD), "AI" + "za"),
    Fake("Google OAuth client", some(28, WORD), "GOC" + "SPX-"),
    Fake("Google access token", some(120, WORD), "ya" + "29."),
    Fake("Google refresh token", some(60, WORD), "1//" + "0"),
    Fake("Firebase messaging", some(134, WORD), "AA" + "AA" + some(7) + ":APA" + "91"),
    Fake("Azure app", "abc8" + "Q~" + some(34)),
    Fake("Alibaba", some(20), "LT" + "AI"),
    Fake("Yandex", some(36, WORD), "AQ" + "VN"),
    Fake("Yandex token", some(40, WORD) + "." + some(86, WORD), "t" + "1."),
    Fake("DigitalOcean", some(64, HEX), "dop" + "_v1_"),
    Fake("Cloudflare origin", some(24, HEX) + "-" + some(146, HEX), "v1" + ".0-"),
    Fake("Heroku", some(58, WORD), "HRKU" + "-AA"),
    Fake("Fly.io", some(140, BASE64), "fm" + "2_"),
    Fake("Databricks", some(32, HEX), "da" + "pi"),
    Fake("PlanetScale", some(43), "pscale" + "_pw_"),
    Fake("Supabase", some(40, HEX), "sb" + "p_"),
    Fake("Tailscale", some(17) + "-" + some(32), "ts" + "key-auth-"),
    Fake("OpenShift", some(43), "sha" + "256~"),
    Fake("Vault", some(95), "hv" + "s."),
    Fake("Terraform Cloud", some(14) + ".atl" + "asv1." + some(67, WORD)),
    Fake("Pulumi", some(40, HEX), "pu" + "l-"),
    Fake("Doppler", some(43), "dp" + ".pt."),
    Fake("1Password", some(300, BASE64), "ops" + "_eyJ"),
    Fake("1Password secret key", "-".join([some(6, UPPER), some(11, UPPER), *[some(5, UPPER)] * 3]), "A" + "3-"),
    Fake("age", some(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"), "AGE-SECRET" + "-KEY-1"),
    Fake("Slack bot", "-".join([some(12, "123456789"), some(12, "123456789"), some(24)]), "xo" + "xb-"),
    Fake("Slack app", "1-" + some(11, UPPER) + "-" + some(64, HEX), "xa" + "pp-"),
    Fake("Slack configuration", "1-" + some(164, UPPER), "xoxe" + ".xoxp-"),
    Fake("Slack webhook", "/".join(["T" + some(8, UPPER), "B" + some(8, UPPER), some(24)]), "https://hooks.slack"
         + ".com/services/"),
    Fake("Discord bot", "M" + some(25) + "." + some(6) + "." + some(38)),
    Fake("Discord webhook", some(68, WORD), "https://discord" + ".com/api/webhooks/77/"),
    Fake("Teams webhook", f"{some(36, HEX)}@{some(36, HEX)}/IncomingWebhook/{some(32, HEX)}",
         "https://acme.webhook.office" + ".com/webhookb2/"),
    Fake("Telegram bot", "5550001110:A" + "A" + some(33, PLAIN)),
    Fake("Twilio", some(32, HEX), "S" + "K"),
    Fake("SendGrid", some(22) + "." + some(43), "S" + "G."),
    Fake("Brevo", some(64, HEX) + "-" + some(16), "xkey" + "sib-"),
    Fake("Mailgun", some(32, HEX), "ke" + "y-"),
    Fake("Mailchimp", some(32, HEX) + "-u" + "s12"),
    Fake("Stripe", some(24), "sk" + "_live_"),
    Fake("Stripe webhook", some(32), "wh" + "sec_"),
    Fake("Square", some(22), "sq0" + "atp-"),
    Fake("PayPal", some(16, LOWER) + "$" + some(32, HEX), "access_token" + "$production$"),
    Fake("Shopify", some(32, HEX), "sh" + "pat_"),
    Fake("Flutterwave", some(32, HEX) + "-X", "FLW" + "SECK_TEST-"),
    Fake("EasyPost", some(54), "EZ" + "AK"),
    Fake("Shippo", some(40, HEX), "ship" + "po_live_"),
    Fake("Duffel", some(43), "duf" + "fel_live_"),
    Fake("Notion", some(11, "123456789") + some(35), "nt" + "n_"),
    Fake("Linear", some(40), "lin" + "_api_"),
    Fake("Airtable", "pa" + "t" + some(14) + "." + some(64, HEX)),
    Fake("Figma", some(40), "fi" + "gd_"),
    Fake("Contentful", some(43), "CF" + "PAT-"),
    Fake("Dropbox", some(135), "s" + "l."),
    Fake("Facebook", some(150), "EA" + "AC"),
    Fake("Typeform", some(44) + "_" + some(14), "tf" + "p_"),
    Fake("Postman", some(24, HEX) + "-" + some(34, HEX), "PM" + "AK-"),
    Fake("ReadMe", some(70, LOWER), "rd" + "me_"),
    Fake("Grafana", some(32) + "_" + some(8, HEX), "gl" + "sa_"),
    Fake("Grafana, older", some(80), "eyJr" + "Ijoi"),
    Fake("New Relic", some(27, UPPER), "NR" + "AK-"),
    Fake("Sentry", some(64, HEX), "sn" + "tryu_"),
    Fake("Dynatrace", some(24, UPPER) + "." + some(64, UPPER), "dt" + "0c01."),
    Fake("Prefect", some(36), "pn" + "u_"),
    Fake("Octopus Deploy", some(26, UPPER), "AP" + "I-"),
    Fake("Harness", "pa" + "t." + some(22) + "." + some(24) + "." + some(20)),
    Fake("MaxMind", some(6) + "_" + some(29) + "_m" + "mk"),
    Fake("JWT", _jwt(30)),
    Fake("JWT, 3,000 characters", _jwt(1_500)),
    Fake("key of 3,000 characters", some(3_000), "sk" + "-proj-"),
]  # fmt: skip
"""Keys that are recognized by their own characters."""

PRIVATE_KEYS = [
    Fake("RSA key", _pem("RSA ")),
    Fake("PKCS 8 key", _pem("")),
    Fake("encrypted key", _pem("ENCRYPTED ")),
    Fake(
        "encrypted RSA key", _pem("RSA ", fields="Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,A0B1C2D3E4F50617\n\n")
    ),
    Fake("OpenSSH key", _pem("OPENSSH ")),
    Fake("PGP key", _pem("PGP ", fields="Version: GnuPG v2.0.22 (GNU/Linux)\n\n")),
    Fake("SSH2 key", _pem("SSH2 ENCRYPTED ", dashes="----")),
    Fake("key in one line", _pem("EC ", end="\\n")),
    Fake("key in JSON in JSON", _pem("", end="\\\\n")),
    Fake("key with Windows lines", _pem("RSA ", end="\r\n")),
    Fake("quoted key", _pem("RSA ", end="\n> ")),
    Fake("key in source code", _pem("RSA ", end='\\n" +\n    "')),
    Fake("key without its end", _pem("RSA ").partition("-----END")[0]),
    Fake("PuTTY key", f"{some(64)}\n{some(64)}\n{some(20)}", "Private-Lines: 3\n", "\nPrivate-MAC: 12ab"),
]

NAMED = [
    Fake("password", "hunter2" + "x!y", "password="),
    Fake("quoted password", "sword" + "fish", "password: '", "'"),
    Fake("password in JSON", "sword" + "fish", '{"db_password": "', '"}'),
    Fake("password with an apostrophe", "it's9" + "xx", '{"password": "', '"}'),
    Fake("password in JSON in JSON", "sword" + "fish", '"{\\"password\\": \\"', '\\"}"'),
    Fake("password of 2,000 characters", some(2_000), 'PASSWORD="', '"'),
    Fake("option", "hunter" + "2xy", "login --password ", " now"),
    Fake("XML", "sword" + "fish", "<password>", "</password>"),
    Fake("netrc", "hunter" + "2xy", "machine example.org login ann password "),
    Fake("client secret", "gH7" + "k_llmn", "client_secret: "),
    Fake("API key", "abcd" + "1234", "the API key: "),
    Fake("refresh token", some(30, WORD), '"refresh_token":"', '"'),
    Fake("token in a URL", "abcd" + "efgh", "https://h.example/?access_token=", "&x=1"),
    Fake("npmrc", some(30), "//registry.example.org/:_authToken="),
    Fake("private key id", some(40, HEX), '"private_key_id": "', '"'),
    Fake("AWS secret", some(40, BASE64), "aws_secret_access_key = "),
    Fake("AWS signature", some(64, HEX), "https://b.s3.example/o?X-Amz-Expires=900&X-Amz-Signature=", "&x=y"),
    Fake("AWS credential", "AK" + "IA" + some(16, UPPER), "https://b.s3.example/o?X-Amz-Credential=", "%2F20260101"),
    Fake("AWS security token", some(700, BASE64), "https://b.s3.example/o?X-Amz-Security-Token="),
    Fake("AWS header", some(64, HEX), "SignedHeaders=host;range, Signature="),
    Fake("Google signature", some(256, HEX), "https://storage.example/o?X-Goog-Signature="),
    Fake("Azure SAS", some(43, PLAIN) + "%3D", "https://a.blob.example/c?sv=2024-01-01&se=2027&sig="),
    Fake("CloudFront", some(80, WORD), "https://d.example/f?Expires=1&Signature=", "&Key-Pair-Id=K"),
    Fake(
        "Azure account key", some(86, BASE64) + "==", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=", ";E=1"
    ),
    Fake("Azure shared access key", some(43, BASE64) + "=", "Endpoint=sb://x.example/;SharedAccessKey="),
    Fake("connection string", "sword" + "fish", "Server=db;Uid=ann;Pwd=", ";Database=x"),
    Fake("subscription key", some(32, HEX), "Ocp-Apim-Subscription-Key: "),
    Fake("URL password", "hunter" + "2x", "postgres://ann:", "@db.example/x"),
    Fake("curl option", "sword" + "fish", "curl -u ann:", " https://h.example"),
]

HEADERS = [
    Fake("authorization", "abQdefgh" + "1Z3R5678", "Authorization: Bearer "),
    Fake("basic authorization", "dXNlcj" + "pwYXNz", "authorization: Basic "),
    Fake("authorization in JSON", "abQdefgh" + "1Z3R5678", '{"Authorization": "Bearer ', '"}'),
    Fake("proxy authorization", "dXNlcj" + "pwYXNz", "Proxy-Authorization: Basic "),
    Fake("authorization of 2,000 characters", some(2_000, WORD), "Authorization: Bearer "),
    Fake("bearer", "abQdefgh" + "1Z3R5678", "sent bearer ", " to it"),
    Fake("cookie", "theme=dark; sid=" + "q8ss10n; lang=x", "Cookie: "),
    Fake("quoted cookie", 'sid="' + 's3ss10n"; other=abc', "Cookie: "),
    Fake("cookie of 3,000 characters", "sid=" + some(3_000), "Cookie: "),
    Fake("set-cookie", "sid=" + "s3ss10n; Path=/; HttpOnly", "Set-Cookie: "),
    Fake("cookie in JSON", "sid=" + "s3ss10n", '{"set-cookie": "', '"}'),
]

ALL = KEYS + PRIVATE_KEYS + NAMED + HEADERS
