"""Lets PyTorch's wheel for Linux load without CUDA.

    python cuda_stubs.py

The package index has no build for the CPU alone on this system, and the libraries of CUDA that the wheel links
take gigabytes, though nothing here calls them. In their place come libraries of the same names whose functions
report that there is no device. That takes `cc` and `readelf`, which a Rust toolchain on Linux needs or brings along.
"""

import importlib.util
import pathlib
import re
import subprocess
import tempfile
from collections import defaultdict

# cudaErrorNoDevice; other libraries take it for an error, too.
NO_DEVICE = 100
NVIDIA = re.compile(r"lib(cu|nccl|nv)")


def readelf(*arguments):
    return subprocess.run(
        ["readelf", "--wide", *map(str, arguments)], check=True, capture_output=True, text=True
    ).stdout


def main():
    torch = pathlib.Path(importlib.util.find_spec("torch").submodule_search_locations[0])
    libraries = sorted((torch / "lib").glob("*.so*"))
    there = {library.name for library in libraries}
    missing, versions = {}, {}
    symbols = defaultdict(set)
    for library in libraries:
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", library)):
            if NVIDIA.match(name) and name not in there:
                missing[name] = defaultdict(set)
        needs = re.findall(r"File: (\S+)|Name: (\S+)", readelf("--version-info", library))
        for file, version in needs:
            of = file or of  # noqa: F821 (a version follows its file)
            versions[version] = of
        for line in readelf("--dyn-syms", library).splitlines():
            match = re.search(r"(FUNC|OBJECT|NOTYPE) +(GLOBAL|WEAK) +\S+ +UND ([^@\s]+)@*(\S*)", line)
            if match and match[2] == "GLOBAL":
                symbols[match[4]].add((match[3], match[1] == "OBJECT"))
    if not missing:
        return
    for version, wanted in symbols.items():
        if version and versions[version] in missing:
            missing[versions[version]][version] |= wanted
    # Those without a version may be in any of them.
    first = next(iter(missing.values()))
    first[""] = {(name, data) for name, data in symbols[""] if re.match(r"(cu|nccl|nv)", name)}
    for name, wanted in missing.items():
        build(torch / "lib" / name, wanted)


def build(path, wanted):
    source, script = [], []
    for version, names in wanted.items():
        for name, data in sorted(names):
            source.append(f"char {name}[4096];" if data else f"long {name}(void) {{ return {NO_DEVICE}; }}")
        if version:
            script.append(f'{version} {{ global: {" ".join(f"{name};" for name, _ in sorted(names))} }};')
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "stub.c").write_text("\n".join(source))
        (folder / "stub.map").write_text("\n".join(script))
        options = [f"-Wl,--version-script={folder}/stub.map"] if script else []
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-w", "-O1", f"-Wl,-soname,{path.name}", *options, "-o", path, folder / "stub.c"],
            check=True,
        )


main()
