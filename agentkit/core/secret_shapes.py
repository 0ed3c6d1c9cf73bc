"""The table of the secrets that are recognized by how they look: keys with a known beginning, and names of settings.

"gitleaks x" is the rule x in config/gitleaks.toml of github.com/gitleaks/gitleaks, and "trufflehog x" the detector x of
github.com/trufflesecurity/trufflehog: two public scanners, used as a source of facts. To add a key, add a row.
"""

from __future__ import annotations

from dataclasses import dataclass

LONGEST = 512
"""The number of characters after which a key is known to be one; it may be longer, and is masked to its end."""

_WORD = "-A-Za-z0-9_"
_PLAIN = "A-Za-z0-9"
_HEX = "0-9a-fA-F"
_BASE64 = "A-Za-z0-9+/="


@dataclass(frozen=True, slots=True)
class Key:
    """A kind of key that is recognized by its own characters.

    `start` is the pattern of its beginning, which stays readable. Then follow at least `least` characters of `chars`,
    or what `rest` matches, if the key has a form of its own; then all further characters of `chars`, if there are any.
    Each match contains one of the `hints`, exactly as they are written.
    """

    name: str
    start: str
    hints: tuple[str, ...]
    source: str
    chars: str = ""
    least: int = 16
    rest: str = ""
    needs_digit: bool = False
    shown: bool = True
    """Whether the text that `start` matches names the key in place of `name`."""

    @property
    def pattern(self) -> str:
        """The regular expression of a key, up to its longest form or to where only more of `chars` can follow."""
        return f"(?:{self.start})(?:{self.rest or f'[{self.chars}]{{{self.least},{LONGEST}}}'})"


KEYS = (
    # models
    Key("OpenAI, Anthropic and others", "sk-", ("sk-",), "gitleaks openai-api-key", _WORD, 16, needs_digit=True),
    Key("Groq", "gsk_", ("gsk_",), "trufflehog groq", _WORD, 16, needs_digit=True),
    Key("xAI", "xai-", ("xai-",), "trufflehog xai", _WORD, 16, needs_digit=True),
    Key("Hugging Face", "hf_|api_org_", ("hf_", "api_org_"), "gitleaks huggingface-access-token", _PLAIN, 20),
    Key("Replicate", "r8_", ("r8_",), "trufflehog replicate", _PLAIN, 20),
    Key("Perplexity", "pplx-", ("pplx-",), "gitleaks perplexity-api-key", _PLAIN, 32),
    Key("NVIDIA", "nvapi-", ("nvapi-",), "trufflehog nvapi", _WORD, 40),
    Key("Fireworks", "fw_", ("fw_",), "docs.fireworks.ai, API keys", _PLAIN, 20, needs_digit=True),
    Key("LangSmith", "lsv2_(?:pt|sk)_", ("lsv2_",), "trufflehog langsmith", _WORD, 32),
    Key("Pinecone", "pcsk_", ("pcsk_",), "docs.pinecone.io, API keys", _WORD, 40),
    Key("Tavily", "tvly-", ("tvly-",), "docs.tavily.com, authentication", _WORD, 20, needs_digit=True),
    # code and packages
    Key("GitHub", "gh[pousr]_", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), "gitleaks github-pat", _PLAIN, 20),
    Key("GitHub, fine-grained", "github_pat_", ("github_pat_",), "gitleaks github-fine-grained-pat", _WORD, 20),
    Key("GitLab", "glpat-", ("glpat-",), "gitleaks gitlab-pat", _WORD + ".", 16, needs_digit=True),
    Key(
        "GitLab, for machines",
        "gl(?:cbt|dt|ffct|ft|imt|agent|oas|ptt|rt|soat)-",
        ("glcbt-", "gldt-", "glffct-", "glft-", "glimt-", "glagent-", "gloas-", "glptt-", "glrt-", "glsoat-"),
        "gitleaks gitlab-deploy-token and its siblings",
        _WORD + ".",
        20,
    ),
    Key("GitLab runner", "GR1348941", ("GR1348941",), "gitleaks gitlab-rrt", _WORD, 20),
    Key("Bitbucket", "ATBB", ("ATBB",), "trufflehog bitbucketapppassword", _PLAIN, 24),
    Key("Atlassian", "ATATT3", ("ATATT3",), "gitleaks atlassian-api-token", _WORD + "=", 60),
    Key("npm", "npm_", ("npm_",), "gitleaks npm-access-token", _PLAIN, 20),
    Key("PyPI", "pypi-AgE", ("pypi-AgE",), "gitleaks pypi-upload-token", _WORD, 20),
    Key("RubyGems", "rubygems_", ("rubygems_",), "gitleaks rubygems-api-token", _HEX, 40),
    Key("NuGet", "oy2", ("oy2",), "trufflehog nugetapikey", rest="[a-z0-9]{43}(?![A-Za-z0-9])"),
    Key("Docker Hub", "dckr_(?:pat|oat)_", ("dckr_pat_", "dckr_oat_"), "trufflehog dockerhub", _WORD, 20),
    Key("Artifactory", "AKCp|cmVmd", ("AKCp", "cmVmd"), "gitleaks artifactory-api-key", _PLAIN, 59),
    Key("Sourcegraph", "sgp_", ("sgp_",), "gitleaks sourcegraph-access-token", "A-Za-z0-9_", 40),
    Key("Buildkite", "bkua_", ("bkua_",), "trufflehog buildkite", _PLAIN, 32),
    Key("CircleCI", "CCIPAT_", ("CCIPAT_",), "circleci.com/docs, personal API tokens", "A-Za-z0-9_", 32),
    # clouds
    Key("AWS", "AKIA|ASIA|ABIA|ACCA", ("AKIA", "ASIA", "ABIA", "ACCA"), "gitleaks aws-access-token",
        rest="[A-Z0-9]{16}(?![A-Za-z0-9])"),
    Key("Google", "AIza", ("AIza",), "gitleaks gcp-api-key", _WORD, 20),
    Key("Google OAuth client", "GOCSPX-", ("GOCSPX-",), "trufflehog googleoauth2", _WORD, 20),
    Key("Google access token", r"ya29\.", ("ya29.",), "developers.google.com, OAuth 2.0", _WORD + ".", 20),
    Key("Google refresh token", "1//0", ("1//0",), "developers.google.com, OAuth 2.0", _WORD, 30),
    Key("Firebase messaging", "AAAA[A-Za-z0-9_-]{7}:APA91", (":APA91",), "trufflehog fcm", _WORD, 60),
    Key("Azure app", r"[A-Za-z0-9_~.]{3}\dQ~", ("Q~",), "gitleaks azure-ad-client-secret", shown=False,
        rest=r"[A-Za-z0-9_~.-]{31,40}"),
    Key("Alibaba", "LTAI", ("LTAI",), "gitleaks alibaba-access-key-id", rest="[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),
    Key("Yandex", "AQVN", ("AQVN",), "gitleaks yandex-api-key", _WORD, 35),
    Key("Yandex token", r"t1\.", ("t1.",), "gitleaks yandex-access-token",
        rest=r"[A-Za-z0-9_-]{20,400}={0,2}\.[A-Za-z0-9_-]{86}={0,2}"),
    Key("DigitalOcean", "do[opr]_v1_", ("doo_v1_", "dop_v1_", "dor_v1_"), "gitleaks digitalocean-pat", _HEX, 40),
    Key("Cloudflare origin", r"v1\.0-", ("v1.0-",), "gitleaks cloudflare-origin-ca-key",
        rest="[a-f0-9]{24}-[a-f0-9]{146}"),
    Key("Heroku", "HRKU-AA", ("HRKU-AA",), "gitleaks heroku-api-key-v2", _WORD, 40),
    Key("Fly.io", "fo1_|fm1[ar]_|fm2_", ("fo1_", "fm1a_", "fm1r_", "fm2_"), "gitleaks flyio-access-token",
        _WORD + "+/=", 40),
    Key("Databricks", "dapi", ("dapi",), "gitleaks databricks-api-token", _HEX, 32),
    Key("PlanetScale", "pscale_(?:tkn|oauth|pw)_", ("pscale_",), "gitleaks planetscale-api-token", _WORD + ".=", 32),
    Key("Supabase", "sbp_", ("sbp_",), "trufflehog supabasetoken", _HEX, 32),
    Key("Tailscale", "tskey-", ("tskey-",), "trufflehog tailscale", _WORD, 20, needs_digit=True),
    Key("OpenShift", "sha256~", ("sha256~",), "gitleaks openshift-user-token", _WORD, 40),
    Key("Vault", r"hv[sbr]\.", ("hvs.", "hvb.", "hvr."), "gitleaks vault-service-token", _WORD, 24),
    Key("Terraform Cloud", r"[A-Za-z0-9]{14}\.atlasv1\.", (".atlasv1.",), "gitleaks hashicorp-tf-api-token",
        _WORD + "=", 40, shown=False),
    Key("Pulumi", "pul-", ("pul-",), "gitleaks pulumi-api-token", _HEX, 40),
    Key("Doppler", r"dp\.(?:pt|st|ct|scim|audit|said)\.", ("dp.",), "gitleaks doppler-api-token", _WORD + ".", 40),
    Key("1Password", "ops_eyJ", ("ops_eyJ",), "gitleaks 1password-service-account-token", _BASE64, 40),
    Key("1Password secret key", "A3-", ("A3-",), "gitleaks 1password-secret-key",
        rest="[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}(?![A-Z0-9])"),
    Key("age", "AGE-SECRET-KEY-1", ("AGE-SECRET-KEY-1",), "gitleaks age-secret-key", "A-Z0-9", 40),
    # messages
    Key("Slack", "xox[abeprs]-", ("xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-"), "gitleaks slack-bot-token",
        _WORD + ".", 16, needs_digit=True),
    Key("Slack, for configuration", r"xoxe\.xox[bp]-", ("xoxe.xox",), "gitleaks slack-config-access-token", _WORD, 20),
    Key("Slack app", "xapp-", ("xapp-",), "gitleaks slack-app-token", _WORD, 20, needs_digit=True),
    Key("Slack webhook", r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/", ("hooks.slack",),
        "gitleaks slack-webhook-url", _WORD + "/+", 20),
    Key("Discord bot", r"(?=[MNO])", (), "trufflehog discordbottoken", shown=False,
        rest=r"[A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}"),
    Key("Discord webhook", r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{1,20}/", ("/webhooks/",),
        "trufflehog discordwebhook", _WORD, 30),
    Key("Teams webhook", r"webhook\.office\.com/webhookb2/", ("/webhookb2/",), "gitleaks microsoft-teams-webhook",
        _WORD + "/@", 40),
    Key("Telegram bot", r"\d{5,16}:(?=AA)", (":AA",), "trufflehog telegrambottoken", shown=False,
        rest="[A-Za-z0-9_-]{33,40}(?![A-Za-z0-9_-])"),
    Key("Twilio", "SK", ("SK",), "gitleaks twilio-api-key", rest="[0-9a-f]{32}(?![0-9A-Za-z])"),
    Key("SendGrid", r"SG\.", ("SG.",), "gitleaks sendgrid-api-token",
        rest=r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    Key("Brevo", "xkeysib-|xsmtpsib-", ("xkeysib-", "xsmtpsib-"), "gitleaks sendinblue-api-token", _WORD, 40),
    Key("Mailgun", "key-", ("key-",), "gitleaks mailgun-private-api-token", rest="[0-9a-f]{32}(?![0-9A-Za-z])"),
    Key("Mailchimp", "", ("-us",), "gitleaks mailchimp-api-key", rest=r"[0-9a-f]{32}-us\d{1,2}(?!\d)", shown=False),
    # money and shops
    Key("Stripe", "[sr]k_(?:live|test|prod)_", ("k_live_", "k_test_", "k_prod_"), "gitleaks stripe-access-token",
        _WORD, 16, needs_digit=True),
    Key("Stripe webhook", "whsec_", ("whsec_",), "docs.stripe.com, webhook signatures", _BASE64, 24),
    Key("Square", "sq0[a-z]{3}-", ("sq0",), "gitleaks square-access-token", _WORD, 22),
    Key("PayPal", r"access_token\$(?:production|sandbox)\$", ("access_token$",), "trufflehog paypaloauth",
        _WORD + "$", 20),
    Key("Shopify", "shp(?:at|ca|pa|ss)_", ("shpat_", "shpca_", "shppa_", "shpss_"), "gitleaks shopify-access-token",
        _HEX, 32),
    Key("Flutterwave", "FLWSECK(?:_TEST)?-", ("FLWSECK",), "gitleaks flutterwave-secret-key", _WORD, 12),
    Key("EasyPost", "EZ[AT]K", ("EZAK", "EZTK"), "gitleaks easypost-api-token", _PLAIN, 54),
    Key("Shippo", "shippo_(?:live|test)_", ("shippo_",), "gitleaks shippo-api-token", _HEX, 40),
    Key("Duffel", "duffel_(?:live|test)_", ("duffel_",), "gitleaks duffel-api-token", _WORD + "=", 40),
    # work and observation
    Key("Notion", "ntn_|secret_(?=[A-Za-z0-9]{43})", ("ntn_", "secret_"), "gitleaks notion-api-token", _PLAIN, 40),
    Key("Linear", "lin_(?:api|oauth)_", ("lin_api_", "lin_oauth_"), "gitleaks linear-api-key", _PLAIN, 32),
    Key("Airtable", r"pat[A-Za-z0-9]{14}\.", ("pat",), "trufflehog airtablepersonalaccesstoken", _HEX, 64,
        shown=False),
    Key("Figma", "fig[doru]_", ("figd_", "figo_", "figr_", "figu_"), "trufflehog figmapersonalaccesstoken", _WORD, 30),
    Key("Contentful", "CFPAT-", ("CFPAT-",), "trufflehog contentfulpersonalaccesstoken", _WORD, 40),
    Key("Dropbox", r"sl\.", ("sl.",), "gitleaks dropbox-short-lived-api-token", _WORD + ".=", 100),
    Key("Facebook", "EAA[A-Z]", ("EAA",), "gitleaks facebook-page-access-token", _PLAIN, 90),
    Key("Typeform", "tfp_", ("tfp_",), "gitleaks typeform-api-token", _WORD + ".=", 40),
    Key("Postman", "PMAK-", ("PMAK-",), "gitleaks postman-api-token", _WORD, 40),
    Key("ReadMe", "rdme_", ("rdme_",), "gitleaks readme-api-token", "a-z0-9", 60),
    Key("Grafana", "gl(?:sa|c)_", ("glsa_", "glc_"), "gitleaks grafana-service-account-token", _WORD + "+/=", 32),
    Key("Grafana, older", "eyJrIjoi", ("eyJrIjoi",), "gitleaks grafana-api-key", _BASE64, 40),
    Key("New Relic", "NRAK-|NRII-|NRJS-", ("NRAK-", "NRII-", "NRJS-"), "gitleaks new-relic-user-api-key", _WORD, 19),
    Key("Sentry", "sntry[su]_", ("sntrys_", "sntryu_"), "gitleaks sentry-org-token", _WORD + "+/=", 40),
    Key("Dynatrace", r"dt0[a-z]\d\d\.", ("dt0",), "gitleaks dynatrace-api-token",
        rest=r"[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}"),
    Key("Prefect", "pn[ub]_", ("pnu_", "pnb_"), "gitleaks prefect-api-token", _PLAIN, 36),
    Key("Octopus Deploy", "API-", ("API-",), "gitleaks octopus-deploy-api-key", rest="[A-Z0-9]{26}(?![A-Za-z0-9])",
        needs_digit=True),
    Key("Harness", r"[ps]at\.", ("pat.", "sat."), "gitleaks harness-api-key", shown=False,
        rest=r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    Key("MaxMind", "", ("_mmk",), "gitleaks maxmind-license-key", shown=False,
        rest="[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?![A-Za-z0-9])"),
    # signed data
    Key("JWT", "eyJ", ("eyJ",), "RFC 7519 and RFC 7516", _WORD + ".", shown=False,
        rest=r"[A-Za-z0-9_-]{8,400}(?:\.[A-Za-z0-9_-]{8}|(?<=[A-Za-z0-9_-]{400})[A-Za-z0-9_-])"),
)  # fmt: skip
"""Keys that are recognized by their own characters; where two rows match at the same place, the first one is used."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name whose value is a secret: of a setting, a header, a parameter or a field of JSON.

    `pattern` ignores the case. A name in `QUERY_NAMES` is recognized only in a URL, or if its value is a digest.
    """

    name: str
    pattern: str
    source: str


NAMES = (
    Name("password", "password|passwd|pwd|passphrase", "gitleaks generic-api-key"),
    Name("secret", "secret(?:[_-]?key)?", "gitleaks generic-api-key; RFC 6749, client_secret"),
    Name("API key", "api[ _-]?key", "gitleaks generic-api-key"),
    Name("access key", "access[_-]?key", "docs.aws.amazon.com, access keys"),
    Name("token", "token", "gitleaks generic-api-key; RFC 6749, access_token and refresh_token"),
    Name("credentials", "credentials?", "gitleaks generic-api-key"),
    Name("private key", "private[_-]?key(?:[_-]?id)?", "cloud.google.com, service account keys"),
    Name("storage account", "account[_-]?key", "learn.microsoft.com, Azure Storage connection strings"),
    Name(
        "shared access",
        "shared[_-]?access[_-]?(?:key|signature)",
        "learn.microsoft.com, Service Bus and Event Hubs connection strings",
    ),
    Name("subscription key", "subscription[_-]?key", "learn.microsoft.com, Azure API Management"),
    Name(
        "AWS signature",
        "x-amz-(?:signature|credential|security-token)",
        "docs.aws.amazon.com, Signature Version 4",
    ),
    Name("Google signature", "x-goog-(?:signature|credential)", "cloud.google.com, signed URLs"),
    Name("OAuth signature", "oauth_signature", "RFC 5849"),
)
QUERY_NAMES = (
    Name("Azure shared access signature", "sig", "learn.microsoft.com, service SAS"),
    Name("signature of a URL", "signature", "docs.aws.amazon.com, CloudFront and S3 signed URLs"),
)
"""Names whose values are secrets."""

HEADERS = (
    Name("authorization", "authorization", "RFC 9110, section 11.6.2"),
    Name("bearer", "bearer", "RFC 6750"),
    Name("cookie", "cookie2?", "RFC 6265"),
)
"""Headers whose values are secrets; `Proxy-Authorization` and `Set-Cookie` end in these, too."""
