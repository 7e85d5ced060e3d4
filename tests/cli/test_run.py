# SPDX-License-Identifier: Apache-2.0
"""run and check through the built command."""

import gzip
import json

from command import ROOT, CommandTest, run

SUM = """
        .globl _start
_start: BSTART.STD FALL
        addi zero, 0, ->a1
loop:   BSTART.STD COND, loop
        add a1, a0, ->a1
        subi a0, 1, ->a0
        setc.ne a0, zero
        C.BSTOP
        BSTART.STD RET
        sdi a1, [a2, 0]
        C.BSTOP
        .data
        .globl total
        .size total, 8
total:  .quad 0
"""
ARGS = ["--arg", "10", "--arg", "0", "--arg", "total"]
CASE = {"id": "one", "group": "g", "asm": "addi", "form": "addi", "init": {"tpc": "0x0"},
        "words": [{"hex": "0x5001", "bits": 16}], "final": {}, "steps": []}


class Run(CommandTest):
    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def sum(self):
        return self.write("sum.s", SUM)

    def test_result(self):
        out = self.good("run", self.sum(), *ARGS, "--result", "total").out
        self.assertTrue(out.splitlines()[1].startswith("37 00 00 00 00 00 00 00"), out)
        self.assertEqual(out, self.good("run", self.sum(), *ARGS, "--result", "total,8").out)

    def test_golden(self):
        good = self.write("good.hex", "37 00 00 00 00 00 00 00\n")
        self.good("run", self.sum(), *ARGS, "--result", "total", "--golden", good)
        bad = self.write("bad.hex", "37 00 01 00 00 00 00 00\n")
        self.fails(1, "byte 2 of the result", "run", self.sum(), *ARGS, "--result", "total",
                   "--golden", bad)
        short = self.write("short.hex", "37 00")
        self.fails(1, "has 2 bytes, the result 8", "run", self.sum(), *ARGS, "--result", "total",
                   "--golden", short)

    def test_every_format_runs(self):
        source = self.sum()
        out = self.good("run", source, *ARGS, "--state", "json").out
        for more in (["--format", "elf"], ["-c"]):
            elf = self.folder / "sum.elf"
            self.good("asm", source, "-o", elf, *more)
            self.assertEqual(self.good("run", elf, *ARGS, "--state", "json").out, out)
        for form in ("flat", "hex"):
            path = self.folder / ("sum." + form)
            self.good("asm", source, "-o", path, "--format", form)
            args = ["--arg", "10", "--arg", "0", "--arg", "0x8000"]
            state = json.loads(self.good("run", path, "--format", form, *args, "--state", "json").out)
            self.assertEqual(state["state"]["gpr[0][3]"], "0x37")

    def test_state(self):
        state = json.loads(self.good("run", self.sum(), *ARGS, "--state", "json").out)["state"]
        self.assertEqual(state["gpr[0][3]"], "0x37")
        self.assertNotIn("tpc", state)

    def test_trace(self):
        lines = run("run", self.sum(), *ARGS, "--trace", "text").err.splitlines()
        self.assertIn("a1=0xa", "\n".join(lines))
        self.assertIn("w8[0x", lines[-2])
        self.assertIn("=0x37", lines[-2])
        rows = [json.loads(l) for l in
                run("run", self.sum(), *ARGS, "--trace", "jsonl").err.splitlines()]
        self.assertEqual(len(rows), len(lines))
        self.assertEqual(rows[1]["entered_body"], True)
        self.assertEqual(rows[-2]["memory"][0]["kind"], "write")
        self.assertEqual(rows[-2]["memory"][0]["value"], "0x37")
        self.assertEqual(rows[-1]["next_pc"], "0x0")
        for before, after in zip(rows, rows[1:]):
            self.assertEqual(before["next_pc"], after["pc"])

    def test_elements(self):
        program = ROOT / "examples/pto/elements.s"
        golden = ["--golden", ROOT / "examples/pto/elements.golden"]
        self.good("run", program, *golden)
        states = [self.good("run", program, "--memory", "1M", "--pes", "4", "--threads", str(n),
                            *golden, "--state", "json").out for n in (1, 2, 3, 4)]
        self.assertEqual(len(set(states)), 1)
        elements = json.loads(states[0])["elements"]
        self.assertEqual(len(elements), 4)
        self.assertEqual(elements[3]["state"]["thread_id"], "0x3")
        self.assertIn("gpr[3][3]", elements[3]["state"])
        self.assertNotIn("gpr[2][3]", elements[3]["state"])
        out = self.good("run", program, "--pes", "2", "--tiles").out
        self.assertEqual([l for l in out.splitlines() if l.startswith("element")],
                         ["element 0", "element 1"])
        dump = self.folder / "tiles.hrry"
        self.good("run", program, "--pes", "2", "--dump-tiles", dump)
        listed = self.good("ls", dump).out
        for tile in ("pe0.tile.0", "pe0.tile.16", "pe1.tile.16"):
            self.assertIn(tile, listed)
        stats = self.good("run", program, "--pes", "2", "--stats").out
        self.assertIn("refused                 0\n", stats)

    def test_tiles_of_elements_are_given_back(self):
        source = self.write("t.s", """
_start: C.BSTART.SYS FALL
        ssrget THREAD_ID, ->a0
        C.BSTOP
        C.BSTART.STD FALL
        addi zero, 64, ->a3
        slli a0, 8, ->t
        hl.addi t#1, 0x20000, ->a1
        addi a0, 3, ->a4
        sdi a4, [a1, 0]
        C.BSTOP
round:  BSTART.TLOAD U32
        B.DIM zero, 16, ->lb0
        B.DIM zero, 4, ->lb1
        B.IOR [a1, a3, zero], ->zero
        B.IOT mask=1111, last, ->t<4KB>
        BSTART.VEC TADD, U32
        B.DIM zero, 16, ->lb0
        B.DIM zero, 4, ->lb1
        B.IOT t#1, t#1, mask=1111, last, ->t<4KB>
        BSTART.TSTORE U32
        B.DIM zero, 16, ->lb0
        B.DIM zero, 4, ->lb1
        B.IOR [a1, a3, zero], ->zero
        B.IOT t#2, mask=1111, last
        C.BSTOP
        C.BSTART COND, round
        addi a2, 1, ->a2
        setc.ltui a2, 20
        C.BSTOP
        .globl cross_model_stop
cross_model_stop:
        C.BSTOP
""")
        run_it = ["run", source, "--pes", "3", "--memory", "1M", "--arg", "0"]
        self.fails(8, "the host does with --free-at", *run_it)
        result = ["--free-at", "round", "--result", "0x20000,1024"]
        outs = {self.good(*run_it, *result, "--threads", n).out for n in "123"}
        self.assertEqual(len(outs), 1)
        for word in ("00 00 30 00", "00 00 40 00", "00 00 50 00"):
            self.assertIn(word, list(outs)[0])
        self.assertIn("instructions ", self.good(*run_it, *result, "--stats").out)

    def test_stacks_of_elements(self):
        source = self.write("e.s", "BSTART.STD FALL\nC.BSTOP\n")
        out = self.good("run", source, "--pes", "3", "--memory", "1M", "--stop-pc", "0x10004",
                        "--state", "json").out
        tops = [int(e["state"]["gpr[%d][1]" % i], 16)
                for i, e in enumerate(json.loads(out)["elements"])]
        self.assertEqual(tops, [0xc0000, 0xb4000, 0xa8000])

    def test_trace_of_elements(self):
        source = self.write("e.s", "BSTART.STD FALL\naddi zero, 5, ->a0\nC.BSTOP\n")
        run_it = ["run", source, "--pes", "2", "--stop-pc", "0x1000a"]
        lines = run(*run_it, "--trace", "text").err.splitlines()
        self.assertEqual([l[0] for l in lines], list("000111"))
        rows = [json.loads(l) for l in run(*run_it, "--trace", "jsonl").err.splitlines()]
        self.assertEqual([r["pe"] for r in rows], [0, 0, 0, 1, 1, 1])
        self.assertEqual(rows[4]["writes"], {"a0": "0x5"})

    def test_faults_of_elements(self):
        odd = self.write("o.s", "C.BSTART.SYS FALL\nssrget THREAD_ID, ->a0\nC.BSTOP\n"
                                "C.BSTART.STD FALL\nldi [a0, 8], ->a1\nC.BSTOP\n")
        for threads in "123":
            self.fails(8, "element 1: DataAlignment at 0x1000a (ldi [a0, 8], ->a1), address 0x9",
                       "run", odd, "--pes", "3", "--threads", threads, "--stop-pc", "0x10010")
        loop = self.write("l.s", "a: BSTART.STD DIRECT, a\nC.BSTOP\n")
        self.fails(9, "element 0: 1000 steps were not enough", "run", loop, "--pes", "4",
                   "--threads", "2", "--round", "64", "--max-steps", "1000")
        self.fails(2, "give --pes", "run", loop, "--threads", "2")
        self.fails(2, "leave --pes out", "run", loop, "--pes", "2", "--script", loop)
        self.fails(2, "", "run", loop, "--pes", "5")

    def test_stats(self):
        out = self.good("run", self.sum(), *ARGS, "--stats").out
        self.assertIn("instructions           55\n", out)
        self.assertIn("refused                 0\n", out)

    def test_a_fault_says_which_where_and_why(self):
        source = self.write("f.s", "BSTART.STD FALL\nlui 0xfffff, ->a0\nldi [a0, 0], ->a1\nC.BSTOP\n")
        done = self.fails(8, "DataPage at 0x10008 (ldi [a0, 0], ->a1)", "run", source)
        self.assertIn("[memory-range]", done.err)
        rows = [json.loads(l) for l in
                run("run", source, "--trace", "jsonl").err.splitlines() if l.startswith("{")]
        self.assertEqual(rows[-1]["trap"]["fault"], "DataPage")
        self.assertEqual(rows[-1]["trap"]["rule"], "memory-range")

    def test_limits(self):
        source = self.write("l.s", "a: BSTART.STD DIRECT, a\nC.BSTOP\n")
        self.fails(9, "1000 steps were not enough", "run", source, "--max-steps", "1000")
        self.fails(9, "0 steps were not enough", "run", source, "--max-steps", "0")

    def test_fetch_outside(self):
        source = self.write("o.s", "BSTART.STD FALL\nC.BSTOP\n")
        self.fails(8, "it does not lie in memory", "run", source, "--memory", "65542")

    def test_wrong_inputs(self):
        source = self.sum()
        self.fails(6, "neither an address nor a symbol", "run", source, "--entry", "nowhere")
        self.fails(2, "--memory takes bytes", "run", source, "--memory", "lots")
        self.fails(2, "memory ends at 0x1000", "run", source, "--memory", "4K")
        self.fails(2, "how many bytes?", "run", source, *ARGS, "--result", "loop")
        self.fails(2, "does not lie in memory", "run", source, *ARGS, "--result", "0x3fffffff,2")
        self.fails(2, "at most eight arguments", "run", source, *(["--arg", "1"] * 9))
        self.fails(5, "", "run", self.folder / "missing.s")
        done = run("run", self.write("bad.s", "nonsense a0\n"))
        self.assertEqual(done.code, 3)
        self.assertIn("asm-mnemonic", done.err)

    def test_entry_and_stop(self):
        state = json.loads(self.good("run", self.sum(), "--stop-pc", "loop", "--state", "json").out)
        self.assertEqual(state["state"]["tpc"], "0x10008")

    def test_script(self):
        source = self.write("t.s", "BSTART.VEC TEXPANDS, S16\nC.B.DIMI 5, ->lb0\nC.B.DIMI 3, ->lb1\n"
                            "C.B.DIMI 8, ->lb2\nB.IOR [a0, zero, zero], ->zero\n"
                            "B.IOT mask=1000, last, ->m<128B>\nC.BSTOP\nBSTART.STD RET\nC.BSTOP\n")
        script = self.write("script", "alloc t#1 8192 FP16 30 60 ; a tile of the host\n"
                            "set a0 -7\nset gpr[0][2] 7\nstep 3\nprint tpc\nprint barg.block_type\nrun\n"
                            "copy m#1 n#3\nfree m#1\nprint tile m#1\nprint tile n#3\nprint mem 0x10000 4\n")
        self.fails(3, "line 2: \"-7\" is neither a number nor a symbol", "run", source, "--script",
                   script)
        script.write_text(script.read_text().replace("set a0 -7\n", ""))
        lines = self.good("run", source, "--script", script).out.splitlines()
        self.assertEqual(lines[:4], ["ran after 3 steps at 0x10008", "tpc = 0x10008",
                                     "barg.block_type = TileElement", "stopped after 6 steps at 0x0"])
        self.assertEqual(lines[4], "tile 32: not allocated")
        self.assertIn("tile 50 (hand n): S16, RowMajor, 8 x 8, valid 3 x 5", lines[5])
        self.assertEqual(lines[7].split(), ["7"] * 5)
        self.assertTrue(lines[-1].startswith("00010000  81 "))

    def test_script_refusals(self):
        source = self.write("t.s", "BSTART.STD RET\nC.BSTOP\n")
        script = self.write("bad", "alloc u#1 100 FP16 3 3\ncopy t#1 t#2\nrun\n")
        done = run("run", source, "--script", script)
        self.assertEqual(done.code, 8)
        self.assertIn("TileAllocation at 0x0 [tile-capacity-unit]", done.out)
        self.assertIn("stopped after 2 steps", done.out)
        for text, says in (("fly", "is no action"), ("set a0", "expected: set NAME VALUE"),
                           ("alloc t#17 128 U8 1 1", "is no tile"),
                           ("alloc 64 128 U8 1 1", "is no tile"),
                           ("alloc 1 128 U9 1 1", "is no element type"),
                           ("alloc 1 128 U8 1 1 square", "is no layout"),
                           ("alloc 1 128 U8 1 1 RowMajor 12", "is no mask"),
                           ("set tile[0].layout 9", "that cannot be"),
                           ("print nothing", "the machine has no state")):
            self.fails(3, says, "run", source, "--script", self.write("one", text + "\n"))

    def test_tiles_are_tensors(self):
        source = self.write("t.s", "BSTART.VEC TEXPANDS, S16\nC.B.DIMI 5, ->lb0\nC.B.DIMI 3, ->lb1\n"
                            "C.B.DIMI 8, ->lb2\nB.IOR [a0, zero, zero], ->zero\n"
                            "B.IOT mask=1000, last, ->m<128B>\nC.BSTOP\nBSTART.STD RET\nC.BSTOP\n")
        dump = self.folder / "tiles.hrry"
        out = self.good("run", source, "--arg", "9", "--tiles", "--dump-tiles", dump).out
        self.assertIn("capacity [#", out)
        self.assertIn("defined: 15 of 15 valid elements", out)
        listed = self.good("ls", dump, "--verify").out
        self.assertIn("i16    [3, 5]", listed)
        self.assertIn("tile.32", listed)

    def test_check(self):
        steps = [[1, "Fault_None", "0x0", "0x4"]]
        case = CASE | {"words": [{"hex": "0x00001001", "bits": 32}], "steps": steps,
                       "status": "executed",
                       "final": {"tpc": "0x4", "sysreg": {"cycle": "0x1"}, "other": {
                           "_BundleActive": True, "_BundleSequentialPC": "0x4",
                           "_FrameStackReturnTarget": "0x4"},
                           "barg": {"bpcn": "0x4", "taken": True}}}
        out = run("check", "pto", self.write("a.jsonl", json.dumps(case))).out
        # what a block start leaves is all in the case but its operation
        self.assertIn("bundle_operation", out)
        name = [w for w in out.split() if w.startswith("bundle_operation")]
        self.assertTrue(name)
        path = self.folder / "bad.jsonl.gz"
        with gzip.open(path, "wt") as file:
            file.write(json.dumps(case | {"steps": [[0, "Fault_DataPage", "0x0", "0x4"]]}) + "\n")
        done = run("check", "pto", path)
        self.assertEqual(done.code, 1)
        self.assertIn("expected rejected DataPage, got executed None", done.out)
        self.assertIn("0 passed, 1 failed", done.out)

    def test_check_refuses_what_is_no_case(self):
        self.fails(3, "line 1 is no recorded case", "check", "pto", self.write("x.jsonl", "{}\n"))
        self.fails(3, "the machine has no such state", "check", "pto",
                   self.write("y.jsonl", json.dumps(CASE | {"init": {"other": {"_Nothing": 1}}})))
        self.fails(2, "there are no vectors of the kind", "check", "abc", self.write("z", ""))
        done = run("check", "pto", self.write("e.jsonl", ""))
        self.assertEqual(done.code, 1)
        self.assertIn("no vector was run", done.err)

