"""Servers that die, forget and hang up while five thousand events are on their way."""


def test_a_bus_that_dies_forgets_its_end_or_everything_loses_nothing(plant):
    bus = plant.bus
    plant.keep_backlog()
    plant.start(relay=3, ordered=2, spread=2)
    plant.goes_on()
    for what, happens in [
        ("valkey killed", bus.kill),
        ("valkey flushed", bus.flush),
        (
            "valkey lost the end of its file",
            lambda: bus.lose_the_end(plant.chance.randint(1, 200_000)),
        ),
        ("valkey lost its directory", bus.wipe),
    ]:
        plant.suffer(what, lambda happens=happens: (happens(), bus.start()))

    assert plant.finish().broken == {}


def test_a_database_that_dies_and_connections_that_break_lose_nothing(plant):
    database, bus = plant.database, plant.bus
    plant.keep_backlog()
    plant.start(relay=3, ordered=2, spread=2)
    plant.goes_on()
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

    assert plant.finish().broken == {}
