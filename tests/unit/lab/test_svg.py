"""A compact figure draws what the original draws."""

import unittest
from xml.etree import ElementTree

from simco_lab.draw import svg

NAMESPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
DRAWING = f"""<?xml version="1.0"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg {NAMESPACES} viewBox="0 0 353.340312 255.243219">
 <metadata>Matplotlib</metadata>
 <defs>
  <style type="text/css">*{{stroke-linecap: butt}}</style>
 </defs>
 <g id="figure_1">
  <path id="unused" d="M 0 255.243219
L 353.340312 255.243219
L 353.340312 255.243219
L 353.340312 0
L 1.000000 -0.000001
z
" style="fill: #ffffff"/>
  <!-- a comment -->
  <g style="opacity: 0.5">
   <defs><path id="m1a2b" d="M 0 3.123456 C 1 2 3 4 5 3.123456 z"/></defs>
   <use xlink:href="#m1a2b" x="1.23456" y="2" style="fill: #ffffff"/>
  </g>
  <clipPath id="p77"><rect x="0" y="0" width="1" height="2"/></clipPath>
  <path clip-path="url(#p77)" d="M 1 2 L 1 3"/>
  <text style="font: 9px sans-serif" transform="translate(1.23456 2)">N = 1.23456</text>
 </g>
</svg>
"""


class Compact(unittest.TestCase):
    def setUp(self):
        self.text = svg.compact(DRAWING)
        self.root = ElementTree.fromstring(self.text)

    def elements(self, name):
        return list(self.root.iter(f"{{{svg.SVG}}}{name}"))

    def test_paths_keep_their_vertices(self):
        paths = [path.get("d") for path in self.elements("path")]
        self.assertEqual(paths[0], "M0 255.24H353.34V0H1z")
        self.assertEqual(paths[1], "M0 3.12C1 2 3 4 5 3.12z")
        self.assertEqual(paths[2], "M1 2V3")

    def test_references_lead_somewhere(self):
        names = {element.get("id") for element in self.root.iter() if element.get("id")}
        self.assertEqual(names, {"i0", "i1"})
        marker = self.elements("use")[0].get(svg.REFERENCE)
        self.assertEqual(self.elements("path")[1].get("id"), marker[1:])
        self.assertEqual(self.elements("path")[2].get("clip-path"), f"url(#{self.elements('clipPath')[0].get('id')})")

    def test_styles_are_shared(self):
        path, use = self.elements("path")[0], self.elements("use")[0]
        self.assertEqual(path.get("class"), use.get("class"))
        sheet = self.elements("style")[0].text
        self.assertIn("*{stroke-linecap: butt}", sheet)
        self.assertIn(f".{path.get('class')}{{fill: #ffffff}}", sheet)
        self.assertFalse([element for element in self.root.iter() if "style" in element.keys()])

    def test_groups_that_say_something_stay(self):
        groups = self.elements("g")
        self.assertEqual(len(groups), 1)
        self.assertIn(f".{groups[0].get('class')}{{opacity: 0.5}}", self.elements("style")[0].text)
        self.assertEqual([child.tag.split("}")[1] for child in groups[0]], ["defs", "use"])

    def test_text_stays(self):
        self.assertEqual(self.elements("text")[0].text, "N = 1.23456")
        self.assertNotIn("Matplotlib", self.text)
