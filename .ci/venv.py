"""Make or repair .venv: `python3 .ci/venv.py .venv/.runtime .` or `… .venv/.dev '.[dev]'`.

Runs under the system's Python, so an old one must still be able to read it and say that it is too old.
An interrupted pip leaves half packages that it later takes for whole ones: then a new .venv is begun.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
MARK = os.path.join(VENV, ".installing")
PYTHON = os.path.join(VENV, "bin", "python")
FRESH = [sys.executable, "-m", "venv", "--clear", VENV]
PIP = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
PIP += ["--constraint", os.path.join(ROOT, "constraints.txt"), "--editable"]


def require_python():
    if sys.version_info < (3, 11):
        found = "{}.{}".format(*sys.version_info[:2])
        sys.exit("Python " + found + " is too old. Viva needs 3.11 or newer: make install PYTHON=python3.11")
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
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        print("failed")
        sys.exit(done.stdout.decode(errors="replace")[-3000:])
    print("{:4.0f} s".format(time.time() - started))


def main(stamp, requirement):
    require_python()
    with open(os.path.join(ROOT, ".venv.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(MARK):
            print("  The last installation was interrupted: starting over.")
            shutil.rmtree(VENV)
        if not os.path.exists(PYTHON):
            step("Virtual environment", FRESH)
        open(MARK, "w").close()
        step("Development tools" if "dev" in requirement else "Dependencies (a minute or two)", PIP + [requirement])
        os.unlink(MARK)
        open(os.path.join(ROOT, stamp), "w").close()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("\nStopped. Run it again to finish.")
