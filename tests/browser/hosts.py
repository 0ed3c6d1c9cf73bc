"""Pages that imitate the frames in which VS Code and Colab show outputs, as far as their sources and documents say.

Of VS Code, from microsoft/vscode: the sandbox of a webview, what it does to `window`, its keys and its links
(webview/browser/pre/index.html, notebook/browser/view/renderers/webviewPreloads.ts), its style sheet (the same two), and
the colours of its themes (platform/theme/common/colors, extensions/theme-defaults). From microsoft/vscode-jupyter: the
white ground of every widget. Of Colab, from googlecolab/colabtools issue 240: the sandbox of an output frame; from
googlecolab/colab-cdn-widget-manager: its style sheet; from a saved page: its colours. Both load the style sheet of
ipywidgets, with the variables of a light JupyterLab.
"""

from __future__ import annotations

from dataclasses import dataclass, field

NONCE = "n0nce"
POLICY = f"default-src 'none'; script-src 'nonce-{NONCE}' blob:; style-src 'unsafe-inline'; img-src data:"
"""Stricter than either. VS Code also allows scripts and pictures of its own; `blob:` is what anywidget needs."""

IPYWIDGETS = """
:root {
  --jp-border-color2: #e0e0e0; --jp-ui-font-size1: 13px; --jp-ui-font-family: Helvetica, Arial, sans-serif;
  --jp-ui-font-color1: rgba(0,0,0,.8); --jp-ui-font-color2: rgba(0,0,0,.5); --jp-code-font-size: 13px;
  --jp-code-font-family: monospace; --jp-layout-color0: white; --jp-layout-color1: white; --jp-brand-color1: #2196f3;
  --jp-warn-color1: #ff9800; --jp-error-color1: #f44336; --jp-success-color1: #4caf50; --jp-info-color1: #00bcd4;
}
"""


@dataclass(frozen=True)
class Theme:
    """The colours of a theme as CSS variables, and the attributes by which its pages tell which theme it is."""

    variables: dict[str, str]
    html: str = ""
    body: str = ""


@dataclass(frozen=True)
class Host:
    """The frame of a host: its sandbox, what it allows, its style sheet, and its script, which runs first."""

    sandbox: str
    themes: dict[str, Theme]
    style: str
    allow: str = ""
    script: str = ""
    widget: str = field(default="")
    """The class of the element around a widget."""


def _vscode(kind: str, background: str, text: str, code: tuple[str, str], link: str, **colours: str) -> Theme:
    names = {
        "font-family": "system-ui, sans-serif",
        "font-size": "13px",
        "editor-font-family": "'Droid Sans Mono', monospace",
        "editor-background": background,
        "editor-foreground": text,
        "textPreformat-foreground": code[0],
        "textPreformat-background": code[1],
        "textLink-foreground": link,
        **{name.replace("_", "-"): colour for name, colour in colours.items()},
    }
    variables = {f"--vscode-{name}": value for name, value in names.items()}
    return Theme(variables, body=f'class="vscode-{kind}" data-vscode-theme-kind="vscode-{kind.split()[0]}"')


_DARK = {
    "charts_blue": "#3794ff",
    "charts_green": "#89d185",
    "charts_orange": "#ea5c0055",
    "charts_red": "#f14c4c",
    "charts_yellow": "#cca700",
}
_LIGHT = {
    "charts_blue": "#1a85ff",
    "charts_green": "#388a34",
    "charts_orange": "#ea5c0055",
    "charts_red": "#e51400",
    "charts_yellow": "#bf8803",
}
_HIGH_CONTRAST = {**_DARK, "charts_red": "#f48771", "charts_yellow": "#ffd370", "contrastBorder": "#6fc3df"}
_HIGH_CONTRAST_LIGHT = {
    **_LIGHT,
    "charts_green": "#374e06",
    "charts_red": "#b5200d",
    "charts_yellow": "#895503",
    "contrastBorder": "#0f4a85",
}

VSCODE = Host(
    sandbox="allow-same-origin allow-pointer-lock allow-scripts allow-downloads allow-forms",
    allow="cross-origin-isolated; autoplay; clipboard-read; clipboard-write",
    themes={
        "dark-plus": _vscode(
            "dark", "#1e1e1e", "#d4d4d4", ("#d7ba7d", "#ffffff1a"), "#3794ff", focusBorder="#007fd4", **_DARK
        ),
        "light-plus": _vscode(
            "light", "#ffffff", "#000000", ("#a31515", "#0000001a"), "#006ab1", focusBorder="#0090f1", **_LIGHT
        ),
        "dark-modern": _vscode(
            "dark", "#1f1f1f", "#cccccc", ("#d0d0d0", "#3c3c3c"), "#4daafc", focusBorder="#0078d4", **_DARK
        ),
        "light-modern": _vscode(
            "light", "#ffffff", "#3b3b3b", ("#3b3b3b", "#0000001f"), "#005fb8", focusBorder="#005fb8", **_LIGHT
        ),
        "high-contrast": _vscode(
            *("high-contrast", "#000000", "#ffffff", ("#000000", "#ffffff"), "#21a6ff"),
            focusBorder="#f38518",
            **_HIGH_CONTRAST,
        ),
        "high-contrast-light": _vscode(
            *("high-contrast-light vscode-high-contrast", "#ffffff", "#292929", ("#ffffff", "#09345f"), "#0f4a85"),
            focusBorder="#006bbd",
            **_HIGH_CONTRAST_LIGHT,
        ),
    },
    style="""
@layer vscode-default {
  body {
    color: var(--vscode-editor-foreground); font-family: var(--vscode-font-family);
    font-size: var(--vscode-font-size); margin: 0; padding: 0 20px;
  }
  a, a code { color: var(--vscode-textLink-foreground); }
  a:focus, input:focus, select:focus, textarea:focus { outline: 1px solid -webkit-focus-ring-color; }
  code {
    color: var(--vscode-textPreformat-foreground); background-color: var(--vscode-textPreformat-background);
    padding: 1px 3px; border-radius: 4px;
  }
  pre code { padding: 0; }
}
body { background: var(--vscode-editor-background); }  /* that of the editor behind the frame */
.cell-output-ipywidget-background { background: white !important; padding: 10px; }
""",
    widget="cell-output-ipywidget-background",
    script="""
const page = window.parent;
const tell = (message) => page.postMessage(message, "*");
window.parent = window;
window.top = window;
window.frameElement = null;
window.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && "zypfs".includes(event.key.toLowerCase())) event.preventDefault();
  tell({ key: event.key });
});
document.addEventListener("DOMContentLoaded", () => document.body.addEventListener("click", (event) => {
  if (!event.view?.document) return;
  const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement && node.href);
  if (!link) return;
  if (link.href.startsWith("blob:")) tell({ saved: link.download });
  else tell({ opened: link.href });
  event.preventDefault();
  event.stopPropagation();
}));
""",
)

COLAB = Host(
    sandbox="allow-forms allow-scripts allow-popups allow-same-origin allow-pointer-lock allow-popups-to-escape-sandbox",
    themes={
        "light": Theme(
            {
                "--colab-primary-surface-color": "#fff",
                "--colab-primary-text-color": "#212121",
                "--colab-secondary-surface-color": "#f7f7f7",
                "--colab-border-color": "#dadada",
                "--colab-anchor-color": "#00e",
            }
        ),
        "dark": Theme(
            {
                "--colab-primary-surface-color": "#383838",
                "--colab-primary-text-color": "#d5d5d5",
                "--colab-secondary-surface-color": "#454545",
                "--colab-border-color": "#616161",
                "--colab-anchor-color": "#64b5f6",
            },
            html='theme="dark"',
        ),
    },
    style="""
:root {
  --jp-layout-color2: var(--colab-secondary-surface-color); --jp-ui-font-color1: var(--colab-primary-text-color);
}
body { background: var(--colab-primary-surface-color); color: var(--colab-primary-text-color); font-family: sans-serif; }
a { color: var(--colab-anchor-color); }
""",
    script="""
const page = window.parent;
window.addEventListener("keydown", (event) => page.postMessage({ key: event.key }, "*"));
""",
)

HOSTS = {"vscode": VSCODE, "colab": COLAB}


def page(host: Host, frame: str) -> str:
    """Return the page around a frame; it notes what the frame tells it."""
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>A notebook</title>
<style>html, body {{ margin: 0; height: 100%; }} iframe {{ border: 0; width: 100%; height: 100%; display: block; }}</style>
<script>
window.told = [];
window.addEventListener("message", (event) => window.told.push(event.data));
</script>
<iframe sandbox="{host.sandbox}" allow="{host.allow}" src="{frame}" title="Outputs"></iframe></html>"""


def frame(host: Host, theme: str, moment: str) -> str:
    """Return the page in the frame: the live view, and below it a moment in its static form."""
    colours = host.themes[theme]
    variables = "".join(f"{name}:{value};" for name, value in colours.variables.items())
    return f"""<!doctype html><html lang="en" {colours.html}><head><meta charset="utf-8"><title>Outputs</title>
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<style>:root {{ {variables} }} {IPYWIDGETS} {host.style}</style>
<script nonce="{NONCE}">
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${{event.violatedDirective}} ${{event.blockedURI}} ${{event.sample}}`));
{{ {host.script} }}
</script></head>
<body {colours.body}><div class="{host.widget}"><div id="output"></div></div><div id="moment">{moment}</div>
<script nonce="{NONCE}" src="/axe.js"></script>
<script nonce="{NONCE}" src="/built.js"></script>
<script nonce="{NONCE}" type="module" src="/host.js"></script>
</body></html>"""
