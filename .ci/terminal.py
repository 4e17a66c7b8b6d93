"""Draw what a terminal shows as SVG: ANSI text on standard input, the prompt's
line as the only argument."""

import html
import re
import sys

WIDTH, LINE, LEFT, TOP = 8.4, 19, 18, 34
STYLE = """
  .screen { fill: #ffffff; stroke: #d0d7de; }
  text { font: 14px ui-monospace, 'SFMono-Regular', Menlo, Consolas, monospace; fill: #1f2328; white-space: pre; }
  .c31 { fill: #cf222e; } .c32 { fill: #1a7f37; } .c33 { fill: #9a6700; } .c35 { fill: #8250df; } .c36 { fill: #0969da; }
  .b { font-weight: bold; } .d { fill: #6e7781; }
  @media (prefers-color-scheme: dark) {
    .screen { fill: #0d1117; stroke: #30363d; }
    text { fill: #e6edf3; }
    .c31 { fill: #ff7b72; } .c32 { fill: #56d364; } .c33 { fill: #e3b341; } .c35 { fill: #d2a8ff; } .c36 { fill: #79c0ff; }
    .d { fill: #8b949e; }
  }
"""


def spans(line):
    """Pieces of a line with the classes that are on for each."""
    color, bold, dim = None, False, False
    for number, piece in enumerate(re.split(r"\x1b\[([0-9;]*)m", line)):
        if number % 2 == 0:
            if piece:
                yield piece, [name for name in (color, bold and "b", dim and "d") if name]
            continue
        for code in (int(code or 0) for code in piece.split(";")):
            if code == 0:
                color, bold, dim = None, False, False
            elif code == 1:
                bold = True
            elif code == 2:
                dim = True
            elif code == 39:
                color = None
            elif 31 <= code <= 36:
                color = f"c{code}"


def main():
    prompt = sys.argv[1]
    lines = [prompt] + sys.stdin.read().rstrip("\n").split("\n")
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    width = round(max(len(line) for line in plain) * WIDTH + 2 * LEFT)
    height = round(len(lines) * LINE + TOP)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">')
    print(f"<title>{html.escape(prompt)}</title>\n<style>{STYLE}</style>")
    print(f'<rect class="screen" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>')
    for row, line in enumerate(lines):
        column, parts = 0, []
        for piece, classes in spans(line):
            style = f' class="{" ".join(classes)}"' if classes else ""
            at = round(LEFT + column * WIDTH, 1)
            parts.append(f'<tspan x="{at}"{style}>{html.escape(piece)}</tspan>')
            column += len(piece)
        if parts:
            print(f'<text y="{TOP - 8 + row * LINE}" xml:space="preserve">{"".join(parts)}</text>')
    print("</svg>")


main()
