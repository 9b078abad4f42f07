"""What every workload of bench/compare shares: the machine, the build of our programs, the installation of their peers,
and the processes that answer orders."""

import json
import os
import platform
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = {
    # name: what to import, what to install, GB on disk
    "NumPy": ("numpy", ["numpy"], 0.1),
    "PyTorch": ("torch", ["torch", "numpy", "entmax"], 5.5),
    "JAX": ("jax", ["jax"], 0.6),
}


class Unmeasured(Exception):
    pass


def note(text):
    print(text, file=sys.stderr, flush=True)


def host():
    """The machine, and its load before the measurement."""
    fields = {}
    if os.path.exists("/proc/cpuinfo"):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    return {
        "model": fields.get("model name", platform.processor() or platform.machine()),
        "family_model_stepping": [fields.get(key, "?") for key in ("cpu family", "model", "stepping")],
        "simd": [name for name in ("avx2", "avx512f") if name in fields.get("flags", "").split()],
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": platform.platform(),
        "load_before": os.getloadavg()[0],
    }


def slug(info):
    """The processor's name as a file name."""
    name = re.sub(r"\((R|TM|C)\)|\b(CPU|Processor)\b|@.*", " ", info["model"], flags=re.I)
    name = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return f"{name}-family{info['family_model_stepping'][0]}-model{info['family_model_stepping'][1]}"


def build_native(build, target):
    """Builds our program for this processor: reproducible flags, -O3 -march=native, 512-bit vectors if it has them."""
    configure = ["cmake", "-S", str(ROOT), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release", "-DINCONTEXT_NATIVE=ON"]
    configure += ["-DINCONTEXT_CUDA=OFF", "-DINCONTEXT_BUILD_PROGRAMS=OFF", "-DINCONTEXT_BUILD_TESTS=OFF"]
    configure += ["-DINCONTEXT_REPRODUCIBLE=ON"]
    if shutil.which("ninja") and not (build / "CMakeCache.txt").exists():
        configure += ["-G", "Ninja"]
    for command in (configure, ["cmake", "--build", str(build), "--target", target]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise Unmeasured("\n".join(done.stdout.splitlines()[-30:] + ["failed: " + " ".join(command)]))
    return build / "bench" / target


def install(peer, folder):
    """PyPI's newest release of a peer in a folder, or a note why not."""
    _, packages, size = PEERS[peer]
    fresh, needed = folder.with_name(folder.name + ".part"), 2 * size + 1
    folder.parent.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(folder.parent).free < needed * 1e9:
        return note(f"{peer} needs {needed:.0f} GB free to install")
    note(f"installing {peer} into {folder} (about {size} GB) ...")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check"]
    command += ["--root-user-action=ignore", "--upgrade", "--target", str(fresh), *packages]
    try:
        subprocess.run(command, check=True, timeout=900, capture_output=True, text=True)
        fresh.rename(folder)
    except subprocess.TimeoutExpired:
        note("pip took more than 15 minutes")
    except subprocess.CalledProcessError as failed:
        note("pip: " + (failed.stderr.strip().splitlines() or ["failed"])[-1])


def environment_of(peer, build, may_install):
    """The environment a peer runs in: PyPI's newest release before the one that this Python has."""
    module, folder = PEERS[peer][0], build / "peers" / peer.lower()
    if may_install and not folder.exists():
        install(peer, folder)
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=str(folder))
    if subprocess.run([sys.executable, "-c", f"import {module}"], env=environment, capture_output=True).returncode:
        raise Unmeasured("not installed")
    return environment


class Contestant:
    """A process that answers orders, one JSON object per line (bench/peers/protocol.py)."""

    def __init__(self, name, command, told=None, environment=None):
        self.name, pipes = name, dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process = subprocess.Popen(command, **pipes, env=environment, cwd=ROOT / "bench")
        if told is not None:
            self.send(told)
        self.about = self.receive(120)

    def send(self, order):
        try:
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Unmeasured(f"{self.name} ended early") from None

    def receive(self, timeout=600):
        ready, _, _ = select.select([self.process.stdout], [], [], timeout)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.process.kill()
            raise Unmeasured(f"{self.name} " + ("ended early" if ready else f"said nothing for {timeout} s"))
        return json.loads(line)

    def ask(self, **order):
        self.send(order)
        return self.receive()

    def close(self):
        try:
            self.process.stdin.close()
            self.process.wait(5)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
