# This source file is part of the Optimist open source project, under the MIT licence.
"""Kills the complete lab at random moments of writing, pushing and pulling, and looks for lost or duplicate to-dos.

10 rounds; 100 in a soak and 2 in short. OPTIMIST_SEED repeats the draws of an earlier run, though not their exact
moments.
"""

import http.client
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from form import form  # noqa: E402
from lab import launch_lab, run_lab, shared  # noqa: E402
from program import eventually, run  # noqa: E402

ROUNDS = form(2, 10, 100)
SEED = int(os.environ.get("OPTIMIST_SEED") or random.SystemRandom().randrange(1 << 32))
claims = Claims()


@dataclass
class Todo:
    """The possible values of a to-do: one, or two while a write is unanswered. None means that it does not exist."""

    label: str
    possible: list
    id: str = None

    @property
    def is_there(self):
        return self.id is not None and self.possible != [None]


class Writer(threading.Thread):
    """A person at one phone, who writes until the lab has died or enough is written."""

    def __init__(self, phone, todos, plan, lab_process):
        super().__init__()
        self.phone, self.todos, self.plan, self.process = phone, todos, plan, lab_process
        self.random = random.Random(plan.seed)
        self.answered, self.problem = 0, None

    def run(self):
        try:
            for number in range(self.plan.writes):
                if self.random.random() < self.plan.weather:
                    self.change_network()
                self.write(f"{self.plan.name}-{number}")
                self.answered += 1
            if self.plan.kills_when_done:
                self.process.kill()
        except (OSError, http.client.HTTPException):
            pass  # The lab has died, as intended. The write in flight stays unanswered.
        except Exception as problem:
            self.problem = problem

    def change_network(self):
        self.phone.call("PUT", "network", self.random.choice([
            {"profile": "offline"}, {"profile": "online"}, {"profile": "online"},
            {"profile": "online", "latencyMs": self.random.randrange(80)},
            {"profile": "online", "lossPercent": 20},
            {"profile": "online", "dropNextResponses": 1},
        ]))

    def write(self, label):
        mine = [todo for todo in self.todos if todo.is_there]
        deed = self.random.choice(["add", "add", "edit", "edit", "delete"]) if mine else "add"
        todo = Todo(label, [None]) if deed == "add" else self.random.choice(mine)
        # The priority depends on the text, so that a partial write would show.
        value = None if deed == "delete" else [f"{todo.label} {label}", self.random.randrange(1000)]
        if deed == "add":
            self.todos.append(todo)
        todo.possible.append(value)
        if deed == "add":
            todo.id = self.phone.add(value[0], priority=value[1])["id"]
        elif deed == "edit":
            self.phone.edit(todo.id, content=value[0], priority=value[1])
        else:
            self.phone.delete(todo.id)
        todo.possible = [value]


@dataclass
class Plan:
    """A phone's actions in a round."""

    name: str
    seed: int
    writes: int
    weather: float
    kills_when_done: bool


class Round:
    def __init__(self, number, chance):
        self.kind = chance.choice(["just written", "push", "pull"])
        just_written = self.kind == "just written"
        self.networks = {
            "just written": ({"profile": "offline"}, {"profile": "online"}),
            "push": ({"profile": "online", "latencyMs": chance.randrange(60)}, {"profile": "online"}),
            "pull": ({"profile": "online"}, {"profile": "online", "latencyMs": chance.randrange(60)}),
        }[self.kind]
        self.plans = [
            Plan(f"{number}{name}", chance.random(), chance.randint(1, 20) if just_written and name == "A" else 1000,
                 0 if just_written else 0.1, just_written and name == "A")
            for name in "AB"
        ]
        self.seconds = None if just_written else chance.uniform(0, 0.6)
        self.dies_at_launch = chance.random() < 0.2
        self.launch_seconds = chance.uniform(0, 1)

    def play(self, process, lab, todos):
        """Lets both phones write until the lab is killed."""
        phones = [lab.phone(name) for name in "AB"]
        for phone, network in zip(phones, self.networks):
            phone.call("PUT", "network", network)
        writers = [Writer(*of, process) for of in zip(phones, todos, self.plans)]
        for writer in writers:
            writer.start()
        if self.seconds is not None:
            eventually("a write is answered", lambda: any(writer.answered or writer.problem for writer in writers))
            time.sleep(self.seconds)  # A random moment, not a wait for a condition.
            process.kill()
        for writer in writers:
            writer.join()
        process.kill()
        for writer in writers:
            if writer.problem:
                raise writer.problem
        return sum(writer.answered for writer in writers)


def relaunch(folder, round):
    if round.dies_at_launch:
        process = launch_lab(folder)
        time.sleep(round.launch_seconds)  # As above.
        process.kill()
    process, lab = run_lab(folder)
    for name in "AB":
        lab.phone(name).network("online")
    return process, lab


def unsent(folder):
    """The number of unsent rows in the dead phones' files, and how many of them were sent without an answer."""
    pending = []
    for name in "AB":
        file = Path(folder, "devices", name, "planner.sqlite")
        status, said, problem = run("inspect", "--json", "--limit", 10_000, file)
        assert status == 0, problem
        pending += json.loads(said)["pending"]
    return len(pending), sum(row["unanswered"] for row in pending)


def settle(lab, todos):
    """Waits until everything has arrived everywhere, and compares it with the acknowledged to-dos."""
    phones = [lab.phone(name) for name in "AB"]
    seen = {}

    def is_quiet():
        seen["server"] = lab.server()
        seen["phones"] = [phone.todos for phone in phones]
        rows = ordered(seen["server"])
        return all(ordered(todos) == rows for todos in seen["phones"]) and all(phone.outbox == [] for phone in phones)

    eventually(lambda: f"server and phones agree: {seen}, {[phone.device for phone in phones]}", is_quiet)
    assert not [phone.rejections for phone in phones if phone.rejections], [phone.rejections for phone in phones]
    compare(seen["server"], todos)


def ordered(rows):
    return sorted((shared(row) for row in rows), key=lambda row: row["id"])


def compare(rows, todos):
    labels = Counter(row["content"].split()[0] for row in rows)
    double = {label: count for label, count in labels.items() if count > 1}
    assert not double, f"double: {double}"
    found = {row["content"].split()[0]: row for row in rows}
    unknown = found.keys() - {todo.label for todo in todos}
    assert not unknown, f"nobody wrote {unknown}"
    for todo in todos:
        row = found.get(todo.label)
        value = row and [row["content"], row["priority"]]
        assert value in todo.possible, f"{todo} is {row}"
        assert not (row and todo.id) or row["id"] == todo.id, f"{todo} has become {row}"
        # The outcome of an unanswered write is now final.
        todo.possible, todo.id = [value], row and row["id"]


@claims
def survives_kills():
    """W1 S3 acknowledged writes survive kill -9 and are everywhere once; an unanswered one is complete or missing."""
    print(f"      seed {SEED}, {ROUNDS} rounds", flush=True)
    chance = random.Random(SEED)
    todos = [], []
    totals = Counter()
    with tempfile.TemporaryDirectory() as folder:
        process, lab = run_lab(folder)
        try:
            for number in range(ROUNDS):
                round = Round(number, chance)
                totals["acknowledged writes"] += round.play(process, lab, todos)
                totals["unanswered writes"] += sum(len(todo.possible) > 1 for todo in todos[0] + todos[1])
                pending, sent = unsent(folder)
                totals["kills with rows unsent"] += pending > 0
                totals["kills with rows sent and unanswered"] += sent > 0
                process, lab = relaunch(folder, round)
                try:
                    settle(lab, todos[0] + todos[1])
                except Exception as problem:
                    raise AssertionError(f"round {number} ({round.kind}), seed {SEED}\n{process.said}") from problem
        finally:
            process.kill()
    print("      " + ", ".join(f"{count} {what}" for what, count in totals.items()), flush=True)
    assert totals["acknowledged writes"] >= ROUNDS, "hardly anything was written between the kills"


if __name__ == "__main__":
    claims.run()
