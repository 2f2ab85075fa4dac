"""Compact SVG. What matplotlib writes is mostly empty groups, unused names, styles repeated at every element,
and coordinates with six decimals."""

import re
from xml.etree import ElementTree

DECIMALS = 2  # of a point, which is 1/72 inch
SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
REFERENCE = f"{{{XLINK}}}href"
ROUNDED = ("d", "x", "y", "width", "height", "viewBox", "transform", "points")

ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)
_LONG_NUMBER = re.compile(rf"-?\d+\.\d{{{DECIMALS + 1},}}(?:e-?\d+)?")
_COMMAND = re.compile(r"\s*([MLQCHVZz])\s*")
_LINE = re.compile(r"([ML])(\S+) ([^\sMLQCHVZz]+)")


def _short_number(match):
    text = f"{float(match[0]):.{DECIMALS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _short_path(path):
    """The path without needless spaces; lines along an axis name the other coordinate only."""
    before = (None, None)

    def line(match):
        nonlocal before
        command, *after = match.groups()
        (old_x, old_y), before = before, tuple(after)
        if command == "L" and after[1] == old_y:
            return "" if after[0] == old_x else f"H{after[0]}"
        return f"V{after[1]}" if command == "L" and after[0] == old_x else match[0]

    path = _COMMAND.sub(r"\1", path).strip()
    return path if set("QC") & set(path) else _LINE.sub(line, path)


def _shorten_numbers(root):
    for element in root.iter():
        for key in set(ROUNDED) & set(element.keys()):
            value = _LONG_NUMBER.sub(_short_number, element.get(key))
            element.set(key, _short_path(value) if key == "d" else value)
        if not (element.text or "").strip():
            element.text = None
        element.tail = "\n" if not (element.tail or "").strip() else element.tail


def _rename(root):
    """Gives short ids to the elements that others refer to, and none to the rest."""
    uses = re.findall(r"#([\w.-]+)", " ".join(
        value for element in root.iter() for key, value in element.items() if key in (REFERENCE, "clip-path")))
    names = {old: f"i{number}" for number, old in enumerate(dict.fromkeys(uses))}
    for element in root.iter():
        for key, value in element.items():
            if key == "id":
                del element.attrib["id"]
                if value in names:
                    element.set("id", names[value])
            elif key == REFERENCE:
                element.set(key, f"#{names[value[1:]]}")
            elif key == "clip-path":
                element.set(key, f"url(#{names[value[5:-1]]})")


def _flatten(parent):
    """Replaces groups that say nothing by their content."""
    for child in list(parent):
        _flatten(child)
        if child.tag == f"{{{SVG}}}g" and not child.attrib:
            place = list(parent).index(child)
            parent.remove(child)
            for offset, grandchild in enumerate(list(child)):
                parent.insert(place + offset, grandchild)


def _share_styles(root):
    """Turns style attributes into classes of the style sheet."""
    sheet = next(root.iter(f"{{{SVG}}}style"))
    styles = dict.fromkeys(element.get("style") for element in root.iter() if "style" in element.keys())
    classes = {style: f"s{number}" for number, style in enumerate(styles)}
    for element in root.iter():
        style = element.attrib.pop("style", None)
        if style is not None:
            element.set("class", classes[style])
    sheet.text += "".join(f"\n.{name}{{{style}}}" for style, name in classes.items())


def compact(text):
    """The same picture in fewer octets."""
    root = ElementTree.fromstring(text)
    for metadata in root.findall(f"{{{SVG}}}metadata"):
        root.remove(metadata)
    _shorten_numbers(root)
    _rename(root)
    _flatten(root)
    _share_styles(root)
    root.text = "\n"
    return ElementTree.tostring(root, encoding="unicode")
