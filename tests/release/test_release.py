"""What `make release` packs: complete licences and materials, a sound Debian package, the same bytes twice."""

import hashlib
import io
import json
import lzma
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "cross/release"))

import archive  # noqa: E402
import bundle  # noqa: E402
import deb  # noqa: E402
import image  # noqa: E402
import imager  # noqa: E402
import inputs  # noqa: E402
import licences  # noqa: E402
import sbom  # noqa: E402
import sources  # noqa: E402

EPOCH = 1_700_000_000
# Crates with C or assembler in the program, and whose it is: their own, or another project's that has a part of its own.
WITH_C = {"blake3": None, "libsqlite3-sys": "sqlite", "ring": "boringssl", "tract-linalg": None, "zstd-sys": "zstd"}
# A program of this machine to pack.
PROGRAM = Path("/bin/true")
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)


class Materials(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The notices of Rust's library need the toolchain of each target, which a machine for tests may lack.
        cls.parts = [part for arch in inputs.TARGETS for part in inputs.crates(arch)]
        cls.parts = list({part.key: part for part in cls.parts}.values())
        cls.parts += [*inputs.c_sources(cls.parts), *inputs.npm(), *inputs.model()]

    def test_every_crate_of_each_target_is_a_part_with_its_licence(self):
        of_part, texts = licences.collect(self.parts)
        document = json.loads(sbom.write(self.parts, "1.2.3", EPOCH))
        listed = {(c["name"], c["version"]) for c in document["components"]}
        for target in inputs.TARGETS.values():
            tree = run("cargo", "tree", "--locked", "--package", "hob", "--target", target, "--edges", "normal,build",
                       "--prefix", "none", "--format", "{p}", cwd=ROOT)
            self.assertEqual(tree.returncode, 0, tree.stderr)
            found = {tuple(line.split()[:2]) for line in tree.stdout.splitlines() if line and "(/" not in line}
            self.assertGreater(len(found), 200)
            for name, version in found:
                version = version.removeprefix("v")
                self.assertIn((name, version), listed)
                numbers = of_part[f"crate:{name}@{version}"]
                self.assertTrue(any(len(texts[n - 1][0]) > 150 for n in numbers), f"{name} has no licence text")

    def test_the_texts_say_what_the_licences_say(self):
        of_part, texts = licences.collect(self.parts)
        for part in self.parts:
            whole = " ".join(" ".join(texts[n - 1][0] for n in of_part[part.key]).split()).lower()
            marks = {"MIT": "permission is hereby granted", "Apache-2.0": "apache license", "ISC": "permission to use, copy",
                     "BSD-3-Clause": "redistributions of source code", "BSD-2-Clause": "redistributions of source code",
                     "MPL-2.0": "mozilla public license", "Zlib": "as-is", "Unlicense": "public domain", "0BSD": "permission to use",
                     "CC0-1.0": "cc0", "BSL-1.0": "boost software license", "Unicode-3.0": "unicode", "WTFPL": "what the fuck",
                     "CDLA-Permissive-2.0": "cdla", "MIT-0": "permission is hereby granted"}
            names = re.split(r" OR | AND | WITH [A-Za-z-]+|[()]", part.licence)
            self.assertTrue(any(marks[name.strip()] in whole for name in names if name.strip() in marks), f"{part.key}: {part.licence}")

    def test_c_inside_crates_is_known(self):
        for part in self.parts:
            if part.kind != "crate" or not part.inside or "crate:cc@" not in " ".join(part.uses):
                continue
            self.assertIn(part.name, WITH_C, "this crate compiles C: name whose it is, here and in inputs.c_sources")
            whose = WITH_C[part.name]
            self.assertTrue(whose is None or any(other.kind == "c" and other.name == whose for other in self.parts), whose)
        names = {part.name for part in self.parts if part.kind == "c"}
        self.assertLessEqual({"quickjs-ng", "wasi-libc", "compiler-rt", "boringssl"}, names)

    def test_the_page_and_the_model_are_parts(self):
        lock = json.loads((ROOT / "web/package-lock.json").read_text())["packages"]
        packages = {place.removeprefix("node_modules/") for place, package in lock.items() if place and not package.get("dev")}
        self.assertLessEqual(packages, {part.name for part in self.parts if part.kind == "npm"})
        model = next(part for part in self.parts if part.kind == "model")
        self.assertIn(model.sha256, (ROOT / "models/SHA256SUMS").read_text())

    def test_the_document_holds_together(self):
        text = sbom.write(self.parts, "1.2.3", EPOCH)
        self.assertEqual(text, sbom.write(self.parts, "1.2.3", EPOCH))
        document = json.loads(text)
        refs = [component["bom-ref"] for component in document["components"]]
        self.assertEqual(len(refs), len(set(refs)))
        known = {*refs, document["metadata"]["component"]["bom-ref"]}
        for row in document["dependencies"]:
            self.assertLessEqual({row["ref"], *row["dependsOn"]}, known)
        used = {ref for row in document["dependencies"] for ref in row["dependsOn"]}
        self.assertEqual(set(refs) - used, set(), "nothing uses these")
        for component in document["components"]:
            self.assertTrue(component["hashes"] if component["bom-ref"].split(":")[0] in ("crate", "npm", "model") else True)
        self.assertRegex(document["serialNumber"], "^urn:uuid:[0-9a-f-]{36}$")

    def test_a_part_without_any_text_stops_the_release(self):
        part = inputs.Part("crate", "mystery", "1.0.0", "GPL-3.0-only", "pkg:cargo/mystery@1.0.0")
        with self.assertRaisesRegex(SystemExit, "mystery 1.0.0 .GPL-3.0-only. brings no licence text"):
            licences.collect([part])
        self.assertIn("Copyright (c) Ada", licences.texts_of(replace(part, licence="GPL-3.0-only OR MIT", holders=("Ada",)))[0])


class Package(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name):
        out = self.folder / name
        out.mkdir()
        return deb.write(out, PROGRAM, "1.2.3-rc.1", ARCH, EPOCH, b"licences\n", b"{}\n")

    def members(self, path):
        """The parts of a package, read by hand: (control, data) as archives."""
        bytes_, at, found = path.read_bytes(), 8, {}
        while at < len(bytes_):
            name, size = bytes_[at : at + 16].decode().strip(), int(bytes_[at + 48 : at + 58])
            found[name] = bytes_[at + 60 : at + 60 + size]
            at += 60 + size + size % 2
        self.assertEqual(list(found), ["debian-binary", "control.tar.xz", "data.tar.xz"])
        return [tarfile.open(fileobj=io.BytesIO(lzma.decompress(found[name]))) for name in list(found)[1:]]

    def test_the_same_inputs_give_the_same_bytes(self):
        first = self.write("first")
        # Other times and modes of the files it is made of.
        shutil.copy(PROGRAM, self.folder / "program")
        second = deb.write(self.folder, self.folder / "program", "1.2.3-rc.1", ARCH, EPOCH, b"licences\n", b"{}\n")
        self.assertEqual(first.name, f"hob_1.2.3~rc.1_{ARCH}.deb")
        self.assertEqual(first.read_bytes(), second.read_bytes())

    def test_what_is_in_it(self):
        control, data = self.members(self.write("one"))
        text = control.extractfile("./control").read().decode()
        self.assertRegex(text, r"Depends: libc6 \(>= 2\.\d+\), systemd \| systemd-standalone-sysusers")
        self.assertIn(f"Architecture: {ARCH}\n", text)
        files = {member.name: member for member in data.getmembers()}
        self.assertRegex(text, r"Recommends: .*polkitd")
        rule = data.extractfile("./usr/share/polkit-1/rules.d/60-hob.rules").read().decode()
        self.assertEqual(rule, (deb.PARTS / "hob.polkit").read_text())
        modes = {"./usr/share/polkit-1/rules.d/60-hob.rules": 0o644, "./usr/bin/hob": 0o755, "./usr/bin/hobctl": 0o755, "./etc/default/hob": 0o600, "./etc/hob/hob.toml": 0o644}
        for name, mode in modes.items():
            self.assertEqual(files[name].mode, mode, name)
        self.assertTrue(all(file.uid == file.gid == 0 and file.mtime == EPOCH for file in files.values()))
        sums = control.extractfile("./md5sums").read().decode().splitlines()
        for line in sums:
            digest, name = line.split("  ")
            self.assertEqual(hashlib.md5(data.extractfile(f"./{name}").read()).hexdigest(), digest)
        conffiles = control.extractfile("./conffiles").read().decode().split()
        self.assertEqual(conffiles, ["/etc/default/hob", "/etc/hob/hob.toml"])
        self.assertEqual(len(sums) + len(conffiles), sum(file.isfile() for file in files.values()))
        if shutil.which("dpkg-deb"):
            shown = run("dpkg-deb", "--info", self.folder / "one" / f"hob_1.2.3~rc.1_{ARCH}.deb")
            self.assertEqual((shown.returncode, shown.stderr), (0, ""))

    def test_a_program_for_another_processor_is_refused(self):
        other = "arm64" if ARCH == "amd64" else "amd64"
        with self.assertRaisesRegex(SystemExit, f"the package for {other}"):
            deb.needs(PROGRAM, other)

    def test_the_configuration_differs_from_hobs_own_in_two_keys(self):
        ours = tomllib.loads(deb.configuration())
        own = tomllib.loads((ROOT / "src/config/hob.toml").read_text())
        own.setdefault("power", {})["off_command"] = "systemctl poweroff"
        self.assertEqual(ours, {"listen": "0.0.0.0:4620", **own})

    @unittest.skipUnless(shutil.which("node"), "node is not here")
    def test_polkit_allows_hob_to_switch_off_and_nothing_else(self):
        script = """
            const rules = [];
            const polkit = {Result: {YES: "yes"}, addRule: (rule) => rules.push(rule)};
            new Function("polkit", require("fs").readFileSync(process.argv[1], "utf8"))(polkit);
            const told = (id, user) => rules.map((rule) => rule({id}, {user}) ?? "-");
            const login1 = "org.freedesktop.login1.";
            console.log(JSON.stringify([
                told(login1 + "power-off", "hob"), told(login1 + "power-off-multiple-sessions", "hob"),
                told(login1 + "power-off-ignore-inhibit", "hob"), told(login1 + "reboot", "hob"),
                told("org.freedesktop.systemd1.manage-units", "hob"), told(login1 + "power-off", "hobbit"),
            ].flat()));
        """
        ran = run("node", "-e", script, deb.PARTS / "hob.polkit")
        self.assertEqual((ran.stdout.strip(), ran.stderr), ('["yes","yes","-","-","-","-"]', ""))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not here")
    def test_the_unit_is_valid_and_confined(self):
        unit = (deb.PARTS / "hob.service").read_text()
        copy = self.folder / "hob.service"
        copy.write_text(unit.replace("/usr/bin/hob", str(PROGRAM)))
        checked = run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", copy)
        self.assertEqual((checked.returncode, [line for line in checked.stderr.splitlines() if "hob" in line]), (0, []))
        # In tenths; what is left is the network, the pins, and the namespaces for programs.
        rated = run("systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=30", copy)
        self.assertEqual(rated.returncode, 0, rated.stdout)

    def scripts(self, name):
        """A maintainer script that works in this folder."""
        text = (deb.PARTS / name).read_text().replace("/var/lib/hob", f"{self.folder}/lib").replace("/run/", f"{self.folder}/run/")
        script = self.folder / name
        script.write_text(text)
        return script

    def fake(self, name, body):
        """An environment in which this command does something else."""
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
        return {"PATH": f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}

    def test_data_go_with_purge_alone(self):
        data = self.folder / "lib/data"
        data.mkdir(parents=True)
        script = self.scripts("postrm")
        environment = self.fake("deb-systemd-helper", "")
        for action, stays in [("upgrade", True), ("remove", True), ("disappear", True), ("purge", False)]:
            done = run("sh", script, action, env=environment)
            self.assertEqual((done.returncode, done.stderr, data.exists()), (0, "", stays), action)

    def test_scripts_are_shell(self):
        for name in [*deb.SCRIPTS, "hobctl"]:
            self.assertEqual(run("sh", "-n", deb.PARTS / name).stderr, "")


class Image(unittest.TestCase):
    PACKAGES = "busybox-static\t1:1.35.0-4+b3\tbusybox\t1:1.35.0-4\tglibc (= 2.36-8)\nlibc6\t2.36-9\tglibc\t2.36-9\n"
    KERNEL = "linux-image-6.1.0-56-arm64\t6.1.192-2\tlinux-signed-arm64\t6.1.192+2\n"

    def test_imagers_list_has_the_real_sizes_and_digests(self):
        with tempfile.TemporaryDirectory() as folder:
            raw = bytes(range(256)) * 9000
            packed = lzma.compress(raw)
            card = Path(folder) / "hob-1.2.3-rpi.img.xz"
            card.write_bytes(packed)
            entry = json.loads(imager.write([imager.entry(card, "1.2.3", EPOCH, "https://example.org/files/", ["pi4-64bit"])]))["os_list"][0]
        self.assertEqual((entry["extract_size"], entry["extract_sha256"]), (len(raw), hashlib.sha256(raw).hexdigest()))
        self.assertEqual((entry["image_download_size"], entry["image_download_sha256"]), (len(packed), hashlib.sha256(packed).hexdigest()))
        self.assertEqual(entry["url"], "https://example.org/files/hob-1.2.3-rpi.img.xz")
        self.assertEqual(entry["release_date"], "2023-11-14")
        # What the schema of Imager's list asks for.
        for key in ["name", "description", "icon", "url", "extract_size", "extract_sha256", "image_download_size", "release_date"]:
            self.assertTrue(entry[key], key)

    def test_sources_of_all_packages_are_owed(self):
        packages = image.read_packages(self.PACKAGES + self.KERNEL)
        lines = sources.manifest(packages).splitlines()
        self.assertEqual([line.split("\t")[:2] for line in lines[1:]],
                         [["busybox", "1:1.35.0-4"], ["glibc", "2.36-8"], ["glibc", "2.36-9"], ["linux", "6.1.192-2"],
                          ["linux-signed-arm64", "6.1.192+2"]])
        script = sources.script("1.2.3", "debian-sources.tsv")
        self.assertNotIn("http", script + sources.offer("1.2.3", "a", "b") + "".join(lines))
        done = run("sh", "-c", script, "fetch")
        self.assertEqual((done.returncode, done.stderr), (2, "usage: fetch FOLDER\n"))

    def test_packages_become_parts_with_their_licences(self):
        packages = image.read_packages(self.PACKAGES)
        notice = ROOT / "LICENSE"
        found = image.Found("rpi", notice, notice, notice, packages, {package.name: notice for package in packages}, ())
        parts = image.parts(found)
        self.assertEqual([part.purl for part in parts][1], "pkg:deb/debian/libc6@2.36-9?arch=arm64&distro=bookworm")
        self.assertIn("1:1.35.0-4%2Bb3", parts[0].purl)
        self.assertIn("MIT License", licences.write(parts, "1.2.3"))

    @unittest.skipUnless((image.COMMON / "GPL-2").exists(), "this is no Debian")
    def test_licences_that_a_notice_names_are_there(self):
        with tempfile.TemporaryDirectory() as folder:
            notice = Path(folder) / "copyright"
            notice.write_text("License: GPL-2\n See `/usr/share/common-licenses/GPL-2'.\n")
            self.assertEqual([path.name for path in image.texts(notice)], ["copyright", "GPL-2"])
            notice.write_text("See /usr/share/common-licenses/Mystery-1.")
            with self.assertRaisesRegex(SystemExit, "refers to Mystery-1"):
                image.texts(notice)


class Bundles(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.hob = self.folder / "hob"
        self.hob.write_text(f"#!/bin/sh\necho \"$@\" >>{self.folder}/calls\n")
        self.hob.chmod(0o755)
        (self.folder / "key").write_text("")

    def write(self, **environment):
        found = image.Found("rpi", self.hob, Path("boot.img"), Path("root.img"), (), {}, ())
        with mock.patch.dict(os.environ, environment):
            return bundle.write(self.folder, {ARCH: self.hob}, found, "1.2.3", EPOCH)

    def test_one_for_each_program_and_one_for_the_image(self):
        (self.folder / "hob-1.1.0-rpi.hobupdate").write_text("")
        key = f"{self.folder}/key"
        self.write(HOB_SIGNING_KEY=key, HOB_EARLIER=str(self.folder))
        common = f"--key {key} --version 1.2.3 --serial {EPOCH}"
        app = f"--app {self.hob} --target {bundle.MACHINES[ARCH]}"
        system = f"--boot boot.img --root root.img --target aarch64-linux --board rpi --from {self.folder}/hob-1.1.0-rpi.hobupdate"
        self.assertEqual((self.folder / "calls").read_text().splitlines(), [
            f"bundle build --out {self.folder}/hob-1.2.3-{ARCH}.hobupdate {common} {app}",
            f"bundle build --out {self.folder}/hob-1.2.3-rpi.hobupdate {common} {system}"])

    def test_without_a_key_there_is_none_and_that_is_told(self):
        self.assertIn("without update bundles", self.write(HOB_SIGNING_KEY="")[0])
        self.assertFalse((self.folder / "calls").exists())
        with self.assertRaisesRegex(SystemExit, "there is no file /nowhere"):
            self.write(HOB_SIGNING_KEY="/nowhere")


class Archives(unittest.TestCase):
    def test_folders_come_before_their_files(self):
        entries = [archive.Entry("b/c/d", "x"), archive.Entry("a", "y", 0o600)]
        with tarfile.open(fileobj=io.BytesIO(archive.tar(entries, EPOCH, "./"))) as found:
            self.assertEqual([(m.name, m.mode) for m in found], [("./a", 0o600), ("./b", 0o755), ("./b/c", 0o755), ("./b/c/d", 0o644)])


if __name__ == "__main__":
    unittest.main()
