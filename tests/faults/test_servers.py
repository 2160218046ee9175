"""Servers that die, forget and hang up while five thousand events are on their way."""

from .harness import wait_until


def test_a_bus_that_dies_forgets_its_end_or_everything_loses_nothing(plant):
    bus = plant.bus
    plant.keep_backlog()
    plant.start(relay=3, ordered=2, spread=2)
    plant.goes_on()
    for what, happens in [
        ("valkey killed", bus.kill),
        ("valkey flushed", bus.flush),
        ("valkey lost its end", lambda: bus.lose_the_end(plant.chance.randint(1, 200_000))),
        ("valkey lost its directory", bus.wipe),
    ]:
        plant.suffer(what, lambda happens=happens: (happens(), bus.start()))
        plant.goes_on()

    assert plant.finish().broken == {}


def test_a_database_that_dies_and_connections_that_break_lose_nothing(plant):
    database, bus = plant.database, plant.bus
    plant.keep_backlog()
    plant.start(relay=3, ordered=2, spread=2)
    plant.goes_on()
    producers = plant.begin_publishing(2_000, largest=20)
    for what, happens in [
        ("connections to postgres cut", lambda: database.cut_connections(plant.name)),
        ("connections to valkey cut", bus.cut_connections),
        ("postgres killed", lambda: (database.kill(), database.start())),
        (
            "connections to both cut",
            lambda: (bus.cut_connections(), database.cut_connections(plant.name)),
        ),
    ]:
        plant.suffer(what, happens)
        plant.goes_on()

    assert [producer.join() for producer in producers] == [0, 0]
    assert plant.finish().broken == {}


def test_a_database_that_dies_while_a_lost_bus_is_healed_loses_nothing(plant):
    """What was sent again before the database forgot the healing must not hide the rest."""
    plant.keep_backlog()
    first = plant.add("relay")
    wait_until(lambda: not plant.in_outbox("PENDING", "PROCESSING"), "everything sent")
    first.kill()
    plant.bus.flush()
    healer = plant.add("relay", sleeps_at="relay.settled")
    wait_until(lambda: healer.asleep, "something sent again")
    plant.suffer("postgres killed", lambda: (plant.database.kill(), plant.database.start()))
    healer.kill()
    plant.start(relay=1, ordered=1, spread=1)

    assert plant.finish().broken == {}
