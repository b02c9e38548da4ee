# This source file is part of the Optimist open source project, under the MIT licence.
"""The builds and tests of each level, in order."""

import os
import platform
from dataclasses import dataclass, field

from . import count

LEVELS = ["quick", "usual", "ci", "all", "soak"]

SERVER = ["--package-path", "Server"]
PYTHON = ".venv/bin/python"

# Tests of the screens in a browser. Each needs its own lab.
SCREENS = [
    "Browser/planner.py", "Browser/session.py", "Browser/home.py", "Browser/poses.py", "Browser/shorts.py",
    "Browser/stories.py", "Browser/sharing.py",
]
# Tests of a lab without a browser. The tests of the screens cover most of this, so only the full form runs these.
ASKED_OF_A_LAB = [
    "EndToEnd/planner_figures.py", "EndToEnd/planner_rules.py", "EndToEnd/planner_sending.py",
    "EndToEnd/planner_crowd.py", "EndToEnd/lab_session.py", "EndToEnd/lab_requests.py",
]
# Tests that start their own programs with $OPTIMIST. The longest begin first, to shorten the run.
ON_THEIR_OWN = [
    "EndToEnd/disk_trouble.py", "EndToEnd/failover.py", "EndToEnd/full_disk.py", "EndToEnd/backup_database.py",
    "Browser/servers.py", "EndToEnd/slow_clients.py", "EndToEnd/openapi.py", "EndToEnd/backup.py",
    "EndToEnd/killloop.py", "EndToEnd/kill_either_side.py", "EndToEnd/kill_first_sync.py", "EndToEnd/kill_refresh.py",
    "EndToEnd/power_loss.py", "EndToEnd/bad_input.py", "EndToEnd/many_connections.py", "EndToEnd/commands.py",
    "EndToEnd/account.py", "EndToEnd/identity.py", "Browser/admin.py", "EndToEnd/jmap.py", "EndToEnd/settings.py",
    "EndToEnd/running.py", "EndToEnd/sharing.py", "EndToEnd/export_database.py", "EndToEnd/hooks.py",
    "EndToEnd/service_keys.py", "EndToEnd/service_jobs.py", "EndToEnd/webhooks.py", "EndToEnd/webhook_settings.py",
    "EndToEnd/imports.py", "EndToEnd/import_files.py", "EndToEnd/exports.py", "EndToEnd/identity_stores.py",
    "Browser/join.py",
]
# More such tests. The tests of the screens cover the essentials of these, so only the full form runs them.
LABS_OF_THEIR_OWN = ["EndToEnd/lab_screens.py", "EndToEnd/lab_servers.py"]
# Compiles an app with all its dependencies.
FROM_NOTHING = "EndToEnd/first_hour.py"
PROGRAMS = [*SCREENS, *ASKED_OF_A_LAB, *ON_THEIR_OWN, *LABS_OF_THEIR_OWN, FROM_NOTHING]


@dataclass
class Stage:
    name: str
    command: list[str]
    counts: object = count.whole
    needs: list[str] = field(default_factory=list)
    # Whether no other stage may run at the same time, because this one keeps every core busy or changes shared files.
    alone: bool = False
    builds: bool = False
    # The niceness, at most 19. Positive for a stage that computes all the time: it yields to the stages that mostly wait,
    # and does not count against their limit.
    niceness: int = 0
    # Whether it needs the address of a new lab as its last argument.
    lab: bool = False
    # Whether it needs a new PostgreSQL server, whose URL it reads from OPTIMIST_TEST_DATABASE.
    postgres: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    # Seconds. Only ends a stage that hangs: no stage takes half as long.
    patience: float | None = 60 * 60
    # If it cannot begin within this many seconds of the run, it is skipped.
    latest: float | None = None


# Swift names a test Target.Suite/name. These tests take about as long as all other unit tests.
STORE = r"^OptimistTests\."


def environment(level):
    """The environment of every test. Deterministic hashing keeps the order of sets and dictionaries, so that a simulation
    can be repeated."""
    form = {"all": "full", "soak": "soak"}.get(level, "short")
    return {"OPTIMIST_TESTS": form, "SWIFT_DETERMINISTIC_HASHING": "1", "OPTIMIST": optimist()}


def stages(level):
    """The stages of a level, in the order in which they begin."""
    found = [
        Stage("system packages", ["Scripts/install"], alone=True),
        Stage("build", ["swift", "build", *SERVER, "--build-tests"], builds=True),
    ]
    if level != "quick":
        found += checks()
    found += unit_tests("", "build", test_program("Server"), level)
    if level != "quick":
        found += [Stage(
            "unit tests of the server on PostgreSQL",
            [*test_program("Server"), "--no-parallel", "--filter", r"^OptimistServerTests\."], count.swift_tests, ["build"],
            postgres=True, environment=environment(level))]
        found += whole_programs(level)
    if level in ("ci", "all", "soak"):
        found += gates(level)
    if level == "soak":
        for stage in found:
            stage.patience = None
    return found


def unit_tests(whose, needed, program, level):
    """The unit tests of a package in two processes. Each runs its tests one after the other, because concurrent tests in one
    process wait for each other, and some then reach a time limit."""
    return [
        Stage(f"unit tests of {what}{whose}", [*program, "--no-parallel", *which], count.swift_tests, [needed],
              niceness=10, environment=environment(level))
        for what, which in [("the store and its engine", ["--filter", STORE]), ("everything else", ["--skip", STORE])]
    ]


def test_program(folder):
    """The command that runs the tests of a package. On Linux this is the test program itself, because only one `swift test`
    can run for a package at a time."""
    if platform.system() == "Linux":
        name = {"Server": "optimist-server", ".": "optimist"}[folder]
        return [f"{folder}/.build/debug/{name}PackageTests.xctest", "--testing-library", "swift-testing"]
    return ["swift", "test", "--package-path", folder, "--skip-build"]


def checks():
    """The stages that do not need a build, and run during it."""
    return [
        Stage("Python packages", ["Scripts/venv"]),
        Stage("documents", ["Scripts/check-docs"]),
        Stage("sizes, names and language", ["Scripts/tidy"], count.counted),
        Stage("deliberate faults fit the sources", ["Scripts/mutations", "--check"]),
    ]


def whole_programs(level):
    """The simulation, and the tests that start the command."""
    is_whole = level in ("all", "soak")
    seeds, sharing = ("200", "100") if is_whole else ("40", "20")
    needs = ["build", "Python packages"]
    with_a_lab = SCREENS + (ASKED_OF_A_LAB if is_whole else [])
    on_their_own = ON_THEIR_OWN + (LABS_OF_THEIR_OWN if is_whole else [])
    return [
        Stage("examples and benchmarks are well typed", ["Scripts/typecheck-examples"], needs=["build"], niceness=10),
        Stage(
            f"simulate {seeds} seeds", [optimist(), "simulate", "--seeds", seeds], count.counted, ["build"],
            # It keeps every core busy, so it runs with the lowest priority. It ends simulations that hang by itself.
            niceness=19, patience=None, environment=environment(level)),
        Stage(
            f"simulate {sharing} seeds of people who share rows",
            [optimist(), "simulate", "--sharing", "--seeds", sharing], count.counted, ["build"],
            niceness=19, patience=None, environment=environment(level)),
        *(
            Stage(file, [PYTHON, f"Server/Tests/{file}"], count.counted, needs, lab=file in with_a_lab,
                  environment=environment(level))
            for file in with_a_lab + on_their_own
        ),
    ]


def gates(level):
    """The checks of format, documentation, interface and release form."""
    # The full form repeats the client's tests in its own package. CI runs them only in the server's package.
    also_tests = ["--build-tests"] if level != "ci" else []
    found = [
        Stage("format", ["Scripts/format", "--check"]),
        *apple(),
        Stage("every module compiles in release form", ["Scripts/typecheck-release"], count.counted, ["build"]),
        # App developers build this package without the server's traits and dependencies.
        Stage("build the client by itself", ["swift", "build", *also_tests], alone=True, builds=True),
        *(unit_tests(", the client by itself", "build the client by itself", test_program("."), "usual") if also_tests else []),
        Stage("documentation builds", ["Scripts/docs"], needs=["build"]),
        Stage("public symbols are documented", ["Scripts/doc-coverage"], count.counted, ["build"]),
        Stage("the public interface is kept", ["Scripts/interface", "--check"], count.counted, ["build"]),
        Stage(
            FROM_NOTHING, [PYTHON, f"Server/Tests/{FROM_NOTHING}"], count.counted,
            ["build", "Python packages"], environment=environment(level), alone=True,
            builds=True),
        Stage("formatting errors are found", ["Scripts/format", "--self-test"]),
        Stage("the checks of sizes, names and language work", ["Scripts/tidy", "--self-test"], count.counted),
        Stage("undocumented symbols are found", ["Scripts/doc-coverage", "--self-test"], count.counted),
        Stage("interface changes are found", ["Scripts/interface", "--self-test"], count.counted),
        Stage("faults that a debug build overlooks are found", ["Scripts/typecheck-release", "--self-test"], count.counted, ["build"]),
        *release(level),
    ]
    if level == "soak":
        found += [
            Stage("sanitizers", ["Scripts/sanitize"], alone=True, builds=True),
            Stage(
                "simulate for an hour",
                [optimist_in("release"), "simulate", "--seeds", "100000", "--minutes", "60", "--resume", ".build/seeds.json"],
                count.counted, ["build for release"], alone=True),
        ]
    return found


def release(level):
    """Builds and tries the release form, which operators run."""
    # The optimiser has broken the reading of providers' keys, which tests of the debug form could not show.
    trials = ["EndToEnd/commands.py", "EndToEnd/identity.py"]
    return [
        # The longest stage, so CI skips it if it would not end in time. The type-check above then takes its place.
        Stage("build for release", ["Scripts/build-release"], alone=True, builds=True,
              latest=25 * 60 if level == "ci" else None),
        *(
            Stage(f"{trial}, in release form", [PYTHON, f"Server/Tests/{trial}"], count.counted,
                  ["build for release", "Python packages"],
                  environment={**environment(level), "OPTIMIST": optimist_in("release")})
            for trial in trials
        ),
    ]


def apple():
    """Type-checks the code for Apple's systems, which only a Mac can compile."""
    if platform.system() != "Linux":
        return []
    return [Stage("type-check for Apple's systems", ["Scripts/typecheck-apple"], needs=["build"])]


def optimist():
    """The path of the command after its build."""
    return os.environ.get("OPTIMIST", optimist_in("debug"))


def optimist_in(configuration):
    return os.path.abspath(f"Server/.build/{configuration}/optimist")
