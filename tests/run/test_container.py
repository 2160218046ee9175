"""The image and the composition for production: every word in them leads somewhere."""

import os
import re
import signal
import subprocess
import sys

import psycopg
import pytest
import yaml

from axiom import embedded, startup
from axiom.__main__ import CHECKS, command
from axiom.embedded.postgres import _binaries

from .conftest import ROOT, Run, eventually

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
OURS = {name: each for name, each in SERVICES.items() if each["image"] == "axiom"}
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def test_there_is_a_service_for_every_process():
    assert set(OURS) == {"web", "worker", "celery", "deliveries", "beat", "migrate"}
    assert set(SERVICES) - set(OURS) == {"postgres", "valkey"}


@pytest.mark.parametrize("name", OURS)
def test_the_command_of_a_service_is_one_that_exists(name):
    program = command(OURS[name]["command"], startup.Environment())
    done = run_python(*help_of(program))
    assert done.returncode == 0, done.stderr


def help_of(program: list[str]) -> list[str]:
    """How to ask `python -m uvicorn ...` or `python manage.py runworker ...` about itself."""
    if program[1] == "-m":
        return ["-m", program[2], "--help"]
    return [program[1], "help", program[2]]


def run_python(*arguments: str, **variables: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | {name: str(value) for name, value in variables.items()},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_workers_of_the_composition_are_known():
    from apps.events import workers

    assert workers.names(OURS["worker"]["command"][1:])


def test_health_checks_ask_what_we_answer():
    asked = [each["healthcheck"].get("test") for each in OURS.values() if "healthcheck" in each]
    ours = [test[-1] for test in asked if test and test[:4] == ["CMD", "python", "-m", "axiom"]]
    assert sorted(ours) == ["beating", "ready"]
    (in_image,) = re.findall(r'CMD \["python", "-m", "axiom", "(\w+)"\]', DOCKERFILE)
    assert {in_image, *ours} <= CHECKS.keys()


def test_who_waits_waits_for_somebody_who_gets_healthy():
    for each in SERVICES.values():
        for name, how in each.get("depends_on", {}).items():
            is_checked = "test" in SERVICES[name].get("healthcheck", {})
            expected = "service_healthy" if is_checked else "service_completed_successfully"
            assert how["condition"] == expected


def test_every_volume_is_declared():
    named = {
        volume.split(":")[0]
        for each in SERVICES.values()
        for volume in each.get("volumes", [])
        if not volume.startswith(".")
    }
    assert named == set(COMPOSE["volumes"])


def test_every_required_variable_is_in_the_example():
    required = set(re.findall(r"\$\{(\w+):\?", (ROOT / "compose.yaml").read_text()))
    example = (ROOT / "deploy" / "example.env").read_text()
    assert required <= set(re.findall(r"^(\w+)=", example, re.MULTILINE))


def test_the_image_copies_what_exists_and_runs_as_nobody_special():
    copied = re.findall(r"^COPY (\S+) ", DOCKERFILE, re.MULTILINE)
    ours = [source for source in copied if not source.startswith("--from")]
    assert all((ROOT / source).exists() for source in ours)
    allowed = re.findall(r"^!(\S+)", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert set(ours) == set(allowed)
    assert DOCKERFILE.rindex("USER axiom") < DOCKERFILE.index("ENTRYPOINT")
    assert "USER root" not in DOCKERFILE


def test_the_image_needs_nothing_that_only_development_has():
    """What it installs is enough to load the settings and every command it may become."""
    development = (ROOT / "requirements-dev.txt").read_text()
    names = set(re.findall(r"^([\w-]+)==", development, re.MULTILINE))
    names -= set(re.findall(r"^([\w-]+)==", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    forbidden = sorted({name.replace("-", "_") for name in names})
    script = (
        f"import sys; forbidden = {forbidden!r}\n"
        "for name in forbidden: sys.modules[name] = None\n"
        "import django; django.setup()\n"
        "import axiom.asgi, axiom.__main__, axiom.celery, apps.events.workers, axiom.doctor.basics"
    )
    done = run_python("-c", script, DJANGO_SETTINGS_MODULE="axiom.settings")
    assert done.returncode == 0, done.stderr


def test_the_web_process_of_the_image_answers_probes_and_stops_politely(tmp_path):
    web = Run(tmp_path)
    variables = {
        "AXIOM_PRODUCTION": 1,
        "SECRET_KEY": "x" * 50,
        "ALLOWED_HOSTS": "axiom.example",
        "PORT": web.port,
        "WEB_PROCESSES": 1,
        "AXIOM_DIR": tmp_path,
        "STATIC_ROOT": tmp_path,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "axiom", "web"],
        cwd=ROOT,
        env=os.environ | {name: str(value) for name, value in variables.items()},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: web.get("/healthz") == 200, seconds=60)
        assert run_python("-m", "axiom", "healthy", **variables).returncode == 0
    finally:
        process.send_signal(signal.SIGTERM)
        # One process alone ends by the signal it was sent, after it has finished its requests.
        assert process.wait(30) in (0, -signal.SIGTERM)
    assert run_python("-m", "axiom", "healthy", **variables).returncode == 1


def test_workers_that_do_not_beat_are_seen(redis_client):
    env = startup.Environment()
    assert not CHECKS["beating"](env)
    from apps.events import heartbeats

    heart = heartbeats.Heart(heartbeats.new_worker_name(), ["relay"])
    heart.beat()
    assert CHECKS["beating"](env)


def test_the_role_made_for_the_application_is_modest(own_directory):
    """The script that PostgreSQL's image runs, run on a server that has neither role nor base."""
    postgres = embedded.Postgres(own_directory / "role")
    postgres.start()
    try:
        with psycopg.connect(postgres.superuser_url(), autocommit=True) as connection:
            connection.execute("DROP DATABASE axiom")
            connection.execute("DROP ROLE axiom")
        done = make_role(postgres)
        assert done.returncode == 0, done.stderr
        with psycopg.connect(postgres.superuser_url("axiom")) as connection:
            assert connection.execute(
                "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcanlogin, "
                "(SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'axiom'), "
                "(SELECT count(*) FROM pg_extension WHERE extname = 'vector') "
                "FROM pg_roles WHERE rolname = 'axiom'"
            ).fetchone() == (False, False, False, True, "axiom", 1)
    finally:
        postgres.stop()


def make_role(postgres: embedded.Postgres) -> subprocess.CompletedProcess[str]:
    where = {
        "PGHOST": "127.0.0.1", "PGPORT": str(postgres.port()), "PGDATABASE": "postgres",
        "PGPASSWORD": (postgres.directory / "postgres.password").read_text(),
        "POSTGRES_USER": "postgres", "AXIOM_DATABASE_PASSWORD": "it's \"odd\"",
        "PATH": f"{_binaries()}:{os.environ['PATH']}",
    }  # fmt: skip
    script = ROOT / "deploy" / "make-role.sh"
    assert os.access(script, os.X_OK)
    return subprocess.run(
        [str(script)], env=os.environ | where, capture_output=True, text=True, check=False
    )


def test_continuous_integration_runs_the_commands_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text()
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert re.search(r"^make lint$", script, re.MULTILINE)
    assert re.search(r"^make test$", script, re.MULTILINE)
