"""Make or repair .venv: `python3 .ci/venv.py .venv/.runtime .` or `… .venv/.dev '.[dev]'`.

Runs under the system's Python, so an old one must still be able to read it and say that it is too old.
An interrupted pip leaves half packages that it later takes for whole ones: then a new .venv is begun.
"""

import fcntl
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
MARK = VENV / ".installing"
PYTHON = VENV / "bin" / "python"
FRESH = [sys.executable, "-m", "venv", "--clear", str(VENV)]
PIP = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
PIP += ["--constraint", str(ROOT / "constraints.txt"), "--editable"]


def require_python():
    if sys.version_info < (3, 11):
        sys.exit("Python %d.%d is too old. Viva needs 3.11 or newer." % sys.version_info[:2])
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        sys.exit("This Python lacks venv. Install it (Debian: apt-get install python3-venv) and try again.")


def step(name, command):
    """Run one command with its seconds on one line; its output only when it fails."""
    sys.stdout.write("  " + (name + " …").ljust(44))
    sys.stdout.flush()
    started = time.time()
    done = subprocess.run(
        command, cwd=str(ROOT), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode:
        sys.exit("failed\n" + done.stdout.decode(errors="replace")[-3000:])
    print("%4.0f s" % (time.time() - started))


def main(stamp, requirement):
    require_python()
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if MARK.exists():
            print("  The last installation was interrupted: starting over.")
            shutil.rmtree(str(VENV))
        if not PYTHON.exists():
            step("Virtual environment", FRESH)
        MARK.touch()
        step("Development tools" if "dev" in requirement else "Dependencies", [*PIP, requirement])
        MARK.unlink()
        (ROOT / stamp).touch()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("\nStopped. Run it again to finish.")
