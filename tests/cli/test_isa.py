# SPDX-License-Identifier: Apache-2.0
"""asm, disasm, ld, isa and doctor through the built command."""

import json
import random
import sys

from command import CommandTest, run

PROGRAM = """
        .globl _start
_start: BSTART.STD COND, done
        addi zero, 64, ->t
        setc.eq t#1, zero
done:   BSTART.VEC TADD, FP32
        B.IOR [a0, a1, zero], ->zero
        B.IOT t#1, u#1, mask=1111, last, ->m<8KB>
        C.BSTOP
        .data
        .quad done
"""


class Isa(CommandTest):
    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def assemble(self, text=PROGRAM, *more):
        out = self.folder / "out.elf"
        self.good("asm", self.write("in.s", text), "-o", out, *more)
        return out

    def test_out_and_in_again(self):
        elf = self.assemble()
        source = self.good("disasm", elf, "--source").out
        flat, again = self.folder / "a.bin", self.folder / "b.bin"
        text_only = "\n".join(l for l in PROGRAM.splitlines() if ".quad" not in l and ".data" not in l)
        self.good("asm", self.write("t.s", text_only), "-o", flat, "--format", "flat")
        self.good("asm", self.write("back.s", source), "-o", again, "--format", "flat")
        self.assertEqual(flat.read_bytes(), again.read_bytes())

    def test_every_format_reads_back(self):
        text = "a: C.BSTART COND, a\n C.BSTOP\n"
        listings = set()
        for fmt in ("elf", "flat", "hex"):
            out = self.folder / ("p." + fmt)
            self.good("asm", self.write("p.s", text), "-o", out, "--format", fmt)
            lines = self.good("disasm", out).out.splitlines()
            listings.add(tuple(l.split("  ")[-1].split(" <")[0] for l in lines if l[:10].strip() == "10000"
                               or l.lstrip().startswith("1000")))
        self.assertEqual(len(listings), 1)

    def test_disasm_json_and_roles(self):
        rows = json.loads(self.good("disasm", self.assemble(), "--json").out)["instructions"]
        self.assertEqual(rows[0]["mnemonic"], "BSTART.STD")
        self.assertEqual(rows[0]["text"], "BSTART.STD COND, 0x1000c <done>")
        bound = self.good("disasm", self.assemble("BSTART.TLOAD FP32\nB.IOR [a0, a1, zero], ->zero\n"
                                                  "B.IOT mask=1111, last, ->m<8KB>\nBSTOP\n"))
        self.assertIn("base-address = a0", bound.out)

    def test_words_that_are_no_instructions_become_data(self):
        bad = self.write("bad.hex", "81 11 02 00 00 00\n")
        out = self.good("disasm", bad).out
        self.assertIn(".half 0x1181, 0x0002", out)
        self.assertIn("reserved for the vector extension", out)

    def test_two_objects_link(self):
        a, b, out = (self.folder / n for n in ("a.o", "b.o", "p.elf"))
        self.good("asm", self.write("a.s", "_start: BSTART.STD DIRECT, f\nC.BSTOP\n"), "-c", "-o", a)
        self.good("asm", self.write("b.s", ".globl f\nf: C.BSTART.STD RET\nC.BSTOP\n"), "-c", "-o", b)
        self.good("ld", a, b, "-o", out)
        self.assertIn("BSTART.STD DIRECT, 0x10008 <f>", self.good("disasm", out).out)
        self.fails(3, "f is used in object 1 and defined in none", "ld", a, "-o", out)
        self.fails(3, "is a program already", "ld", out, "-o", self.folder / "q.elf")

    def test_mistakes_show_the_place(self):
        path = self.write("bad.s", "  addii a0, 1, ->a0\n")
        done = run("asm", path, "-o", self.folder / "x")
        self.assertEqual((done.code, done.out), (3, ""))
        self.assertIn('bad.s:1:3: error: no instruction is called "addii"; did you mean ADDI?', done.err)
        self.assertIn("      addii a0, 1, ->a0\n      ^\n", done.err)
        self.assertNotIn("x", self.files())

    def test_warnings_and_werror(self):
        path = self.write("w.s", "BSTART.VEC TADD, FP32\nB.IOT t#1, mask=1111, last, ->m<8KB>\nBSTOP\n")
        done = run("asm", path, "-o", self.folder / "w.elf")
        self.assertEqual(done.code, 0)
        self.assertIn("warning: TADD takes 2 source tiles, the bundle binds 1 [bundle-sources]", done.err)
        self.assertEqual(run("asm", path, "-o", self.folder / "w", "--werror").code, 3)

    def test_listing(self):
        out = self.good("asm", self.write("l.s", "x: addi zero, 64, ->t # here\n"), "-o",
                        self.folder / "l.elf", "--listing", "-").out
        self.assertEqual(out, ".text      000000 950f0004              1  x: addi zero, 64, ->t # here\n")

    def test_isa_pages(self):
        page = self.good("isa", "hl.casd").out
        self.assertIn("HL.CASD", page)
        self.assertIn("SrcD", page)
        self.assertIn("TADD", self.good("isa", "TADD").out)
        everything = self.good("isa").out.splitlines()
        self.assertGreater(len(everything), 500)
        self.assertGreaterEqual(len(json.loads(self.good("isa", "--json").out)["forms"]), 540)
        self.fails(6, "did you mean ADDI?", "isa", "addii")

    def test_doctor_names_the_release(self):
        old = self.folder / "old.o"
        self.good("asm", self.write("o.s", "BSTART.STD CALL, x\nx: C.BSTOP\n"), "-c", "-o", old,
                  "--isa", "0.58.0")
        done = run("doctor", old, "--json")
        self.assertEqual(done.code, 1)
        found = json.loads(done.out)
        self.assertEqual((found["legal"], found["decided"], found["note"]), (["0.58.0"], True, "0.58.0"))
        self.assertEqual(found["refused"][0]["rule"], "isa-retired")
        new = self.assemble()
        found = json.loads(self.good("doctor", new, "--json").out)
        self.assertIn("0.58.3", found["legal"])
        undecided = self.good("doctor", self.write("h.hex", "00 00\n")).out
        self.assertIn("the words alone cannot decide", undecided)

    def test_doctor_never_names_a_release_that_refuses(self):
        """Random objects of each release, without their note."""
        rng = random.Random(7)
        forms = json.loads(self.good("isa", "--json").out)["forms"]
        for release in ("0.58.0", "0.58.1", "0.58.2", "0.58.3"):
            hexes = bytearray()
            for _ in range(40):
                form = rng.choice(forms)
                bits, mask, match = form["bits"], int(form["mask"], 16), int(form["match"], 16)
                word = rng.getrandbits(bits) & ~mask | match
                hexes += word.to_bytes(bits // 8, "little")
            path = self.write("r.hex", hexes.hex(" ") + "\n")
            found = json.loads(run("doctor", path, "--isa", release, "--json").out)
            for name in ("0.58.0", "0.58.1", "0.58.2", "0.58.3"):
                rows = json.loads(self.good("disasm", path, "--isa", name, "--json").out)
                refused = any("rule" in row for row in rows["instructions"])
                self.assertEqual(name in found["legal"], not refused)

    def test_wrong_inputs(self):
        self.fails(2, "-o FILE is needed", "asm", self.write("e.s", ""))
        self.fails(5, "cannot open", "disasm", self.folder / "nothing")
        self.fails(4, "is for machine 0x3E", "disasm", sys.executable)
        self.fails(2, "takes an address", "asm", self.write("e.s", ""), "-o", self.folder / "x",
                   "--address", "ten")
        self.fails(3, "two hexadecimal digits", "disasm", self.write("x.hex", "12 3"), "--format", "hex")
