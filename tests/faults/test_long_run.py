"""Everything at once, for as long as `make faults` has patience."""

import signal

from .harness import Plant

FAULTS = 12


def test_a_working_day_of_misfortunes_leaves_every_effect_once_and_in_order(plant):
    plant.failing = 0.01
    plant.keep_backlog()
    plant.start(relay=3, ordered=2, spread=2)
    for _ in range(FAULTS):
        name, misfortune = plant.chance.choice(sorted(misfortunes(plant).items()))
        plant.suffer(name, misfortune)
        plant.goes_on()

    assert plant.finish().broken == {}


def misfortunes(plant: Plant):
    bus, database = plant.bus, plant.database

    def restarted(server, harm):
        harm()
        server.start()

    def asleep(role):
        sleeper = plant.one_of(role)
        sleeper.signal(signal.SIGSTOP)
        try:
            plant.goes_on(effects=1)
        finally:
            sleeper.signal(signal.SIGCONT)

    return {
        "a relay killed": lambda: plant.replace_one("relay"),
        "an ordered worker killed": lambda: plant.replace_one("ordered"),
        "a spread worker killed": lambda: plant.replace_one("spread"),
        "a relay asleep": lambda: asleep("relay"),
        "valkey killed": lambda: restarted(bus, bus.kill),
        "valkey flushed": bus.flush,
        "valkey lost its directory": lambda: restarted(bus, bus.wipe),
        "valkey lost its end": lambda: restarted(
            bus, lambda: bus.lose_the_end(plant.chance.randint(1, 300_000))
        ),
        "postgres killed": lambda: restarted(database, database.kill),
        "postgres cut off": lambda: database.cut_connections(plant.name),
        "valkey cut off": bus.cut_connections,
    }
