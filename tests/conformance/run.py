"""Run the array API's conformance suite on perflab.runtime and count.

    python tests/conformance/run.py <checkout of data-apis/array-api-tests> [--max-examples N] [pytest's arguments]

Prints the share that passed of what the suite collects; skipped and expected failures count as not passed. The exit
status is 1 below 95 %.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

SKIPS = Path(__file__).parent / "skips.txt"
LEAST = 0.95


def outcomes(report: Path) -> Counter[str]:
    """How many tests of a JUnit report ended how."""
    found: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        ends = {child.tag for child in case}
        found["failed" if ends & {"failure", "error"} else "skipped" if "skipped" in ends else "passed"] += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path, help="a checkout of data-apis/array-api-tests with its submodule array-api")
    parser.add_argument("--max-examples", type=int, default=20, help="examples a property (default 20)")
    args, rest = parser.parse_known_args()
    if not (args.suite / "array-api" / "spec").is_dir():
        parser.error(
            f"{args.suite} is no complete checkout: clone https://github.com/data-apis/array-api-tests there "
            "with its submodule array-api (git clone --recurse-submodules)"
        )
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "array_api_tests", "-q", "--tb=short", "-p", "no:cacheprovider"]
        command += [f"--junitxml={report}", f"--skips-file={SKIPS}", f"--max-examples={args.max_examples}"]
        # The same examples every time, and no time limit for one: the count does not depend on the machine.
        command += ["--derandomize", "--disable-deadline", *rest]
        environment = {"ARRAY_API_TESTS_MODULE": "perflab.runtime", "HYPOTHESIS_STORAGE_DIRECTORY": folder}
        subprocess.run(command, cwd=args.suite, env=os.environ | environment, check=False)
        if not report.exists():
            print("The suite did not run: see above.", file=sys.stderr)
            return 1
        found = outcomes(report)
    share = found["passed"] / max(found.total(), 1)
    print(
        f"Array API 2024.12: {found['passed']} of {found.total()} passed ({share:.1%}), "
        f"{found['failed']} failed, {found['skipped']} skipped; at least {LEAST:.0%} are required."
    )
    return int(share < LEAST)


if __name__ == "__main__":
    sys.exit(main())
