# SPDX-License-Identifier: Apache-2.0
"""Bar charts as inline SVG. Colours come from the page's style sheet, so that they suit light and
dark alike."""

import html
import math

WIDTH, LEFT, RIGHT = 760, 120, 96
BAR, GAP, GROUP_GAP, TOP, BOTTOM = 18, 4, 18, 12, 48


def nice_ticks(limit):
    """Round numbers from 0 to at least `limit`."""
    if limit <= 0:
        return [0, 1]
    step = 10 ** math.floor(math.log10(limit))
    for part in (0.1, 0.2, 0.25, 0.5, 1, 2):
        if limit / (step * part) <= 6:
            step *= part
            break
    return [step * i for i in range(math.ceil(limit / step - 1e-9) + 1)]


def number(value):
    if value == 0:
        return "0"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"


def text(x, y, content, anchor="start", kind="label"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">'
            f"{html.escape(content)}</text>")


def legend(series):
    keys = "".join(f'<li><span class="key {css}"></span>{html.escape(name)}</li>'
                   for name, css in series)
    return f'<ul class="legend">{keys}</ul>'


def grouped_bars(series, groups, axis, marks=(), keys=None):
    """Horizontal bars. `series`: [(name, css class)]. `groups`: [(label, [value or list of stacked
    (value, css class), or None])], one entry per series. `marks`: [(value, label)], vertical lines.
    `keys`: a legend of its own; the names of the series then stand behind the bars."""

    def total(entry):
        return sum(v for v, _ in entry) if isinstance(entry, list) else entry or 0

    right = RIGHT + (110 if keys else 0)
    limit = max([total(e) for _, entries in groups for e in entries] + [v for v, _ in marks] + [0])
    ticks = nice_ticks(limit)
    scale = (WIDTH - LEFT - right) / ticks[-1]
    per_group = len(series) * (BAR + GAP) - GAP
    height = TOP + len(groups) * (per_group + GROUP_GAP) - GROUP_GAP + BOTTOM + (14 if marks else 0)
    top = TOP + (14 if marks else 0)
    floor = height - BOTTOM + 6
    out = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(axis)}">']
    for tick in ticks:
        x = LEFT + tick * scale
        out.append(f'<line x1="{x:.1f}" y1="{top - 6}" x2="{x:.1f}" y2="{floor}" class="grid"/>')
        out.append(text(x, floor + 15, number(tick), "middle", "tick"))
    out.append(text(LEFT + (WIDTH - LEFT - right) / 2, floor + 34, axis, "middle", "axis"))
    y = top
    for label, entries in groups:
        out.append(text(LEFT - 10, y + per_group / 2 + 4.5, label, "end"))
        for (name, css), entry in zip(series, entries):
            if entry is None:
                out.append(text(LEFT + 6, y + BAR / 2 + 4.5, "none", "start", "value"))
            else:
                parts = entry if isinstance(entry, list) else [(entry, css)]
                x = LEFT
                for value, part in parts:
                    if value:
                        out.append(f'<rect x="{x:.1f}" y="{y}" width="{max(value * scale, 1):.1f}" '
                                   f'height="{BAR}" class="{part}"><title>{html.escape(label)}, '
                                   f"{html.escape(name)}: {number(value)}</title></rect>")
                        x += value * scale
                shown = number(total(entry)) + (f" {name}" if keys else "")
                out.append(text(x + 6, y + BAR / 2 + 4.5, shown, "start", "value"))
            y += BAR + GAP
        y += GROUP_GAP - GAP
    out.append(f'<line x1="{LEFT}" y1="{top - 6}" x2="{LEFT}" y2="{floor}" class="base"/>')
    for value, label in marks:
        x = LEFT + value * scale
        out.append(f'<line x1="{x:.1f}" y1="{top - 6}" x2="{x:.1f}" y2="{floor}" class="mark"/>')
        out.append(text(x, top - 11, label, "middle", "tick"))
    out.append("</svg>")
    return legend(keys or series) + "".join(out)
