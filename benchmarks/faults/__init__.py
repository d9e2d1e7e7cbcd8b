"""Chaos: real processes, servers and disks are broken on purpose, and what was promised is looked at after each fault.

    chaos.py       all of it, in ten minutes (`make chaos`)
    _ledgers.py    processes that charge, draw and settle, on SQLite and PostgreSQL
    _curators.py   a curator's service with modelers that ask it, its state in a folder or on a server
    _runs.py       tacit.tune and tacit.train, killed and started again until they are done
    _damage.py     files with bits changed or cut short: ledgers, a curator's state, what a killed run left
    _standbys.py   failovers between two servers
    _work.py       what the processes do that are killed

Faults are real: SIGKILL and SIGSTOP, a file system that is full or read-only, servers that are stopped at once,
backends that are ended, clocks that jump (libfaketime). What a machine cannot do (mount a file system, fake a clock) is
left out and said.
"""
