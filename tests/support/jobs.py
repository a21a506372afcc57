"""Work in several processes."""

import concurrent.futures


def results(pool, at_once, tasks):
    """(key, result) of each task as it ends. `tasks` yields (key, function, arguments...); the next
    one is asked for when fewer than `at_once` are running."""
    running, tasks = {}, iter(tasks)
    while True:
        while len(running) < at_once and (task := next(tasks, None)):
            key, *call = task
            running[pool.submit(*call)] = key
        if not running:
            return
        for done in concurrent.futures.wait(running, return_when="FIRST_COMPLETED").done:
            yield running.pop(done), done.result()
