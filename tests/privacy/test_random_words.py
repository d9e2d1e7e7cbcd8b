"""Random bits: threads and forked processes have their own, and a generator that fails means no draw."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import GeneratorFailed
from tacit.privacy import random_words as words
from tacit.privacy.noise import EXACT

MANY = words.FEW  # words, which are more bytes than the system is asked for


@pytest.mark.parametrize("count", [1, MANY])
def test_forked_processes_draw_other_words(count: int) -> None:
    words.random_words(count)  # so that the parent's generator has a state to inherit
    context = multiprocessing.get_context("fork")
    drawn = [context.SimpleQueue() for _ in range(6)]
    children = [context.Process(target=put_words, args=(queue, count)) for queue in drawn]
    for child in children:
        child.start()
    flat = [word for queue in drawn for word in queue.get()] + words.random_words(count).tolist()
    for child in children:
        child.join()
    assert len(set(flat)) == len(flat) == 7 * count  # two agree by chance at a rate of 1e-13


def put_words(queue: Any, count: int) -> None:
    queue.put(words.random_words(count).tolist())


def test_a_forked_process_adds_a_seed_of_its_own_before_it_draws() -> None:
    words.random_words(MANY)
    read, write = os.pipe()
    if not (child := os.fork()):
        before = words._copied
        words.random_words(MANY)
        os.write(write, bytes([before, words._copied]))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 2) == bytes([True, False])
    assert not words._copied
    os.close(read), os.close(write)


def test_so_does_one_that_was_forked_before_the_first_draw() -> None:
    code = (
        "import os, ssl; from tacit.privacy import random_words as w\n"
        "ssl.RAND_bytes(8)  # something else has used the generator\n"
        "if child := os.fork(): os.waitpid(child, 0); print(w._copied)\n"
        "else:\n"
        "    seeds, draw = [], w._generator()[0]\n"
        "    w._generator = lambda: (draw, seeds.append)\n"
        "    w.random_words(w.FEW), w.random_words(w.FEW)\n"
        "    print(*map(len, seeds), flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["48", "False"]


def test_threads_draw_other_words() -> None:
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda i: words.random_words(1 if i % 2 else 500), range(64)))
    assert len(np.unique(np.concatenate(rows))) == 32 * 501  # two of them agree by chance at a rate of 1e-11


def test_no_number_is_drawn_when_openssl_fails(tmp_path: Path) -> None:
    settings = tmp_path / "openssl.cnf"
    settings.write_text("openssl_conf = init\n[init]\nrandom = generator\n[generator]\nrandom = NO-SUCH-GENERATOR\n")
    code = (
        "import ssl, numpy, tacit.errors as e\nfrom tacit.privacy.noise import EXACT\n"
        "try: ssl.RAND_bytes(8); print('the generator works')\nexcept ssl.SSLError: pass\n"
        "try: EXACT.gaussian(numpy.zeros(99), 1.0); print('drawn')\nexcept e.GeneratorFailed as error: print(error)"
    )
    environment = {**os.environ, "OPENSSL_CONF": str(settings)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    if "the generator works" in done.stdout:
        pytest.skip("this OpenSSL reads no settings, so its generator cannot be made to fail")
    assert "Nothing was drawn" in done.stdout


def test_no_number_is_drawn_when_the_system_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(count: int) -> bytes:
        raise NotImplementedError

    monkeypatch.setattr(os, "urandom", fail)
    with pytest.raises(GeneratorFailed, match="NotImplementedError"):
        EXACT.gaussian_whole(5, 10.0)


def test_a_python_without_openssl_asks_the_system() -> None:
    code = (
        "import sys; sys.modules['ssl'] = None\nfrom tacit.privacy import random_words as w\n"
        "print(len(set(w.random_words(1000).tolist())), w._generator()[0].__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1000", "urandom"]


def test_a_generator_that_gives_too_few_bytes_is_refused() -> None:
    with pytest.raises(GeneratorFailed, match="15 bytes of 16"):
        words.random_words(2, lambda count: bytes(count - 1))


def test_words_are_the_bytes_of_the_source_in_their_order() -> None:
    assert words.random_words(2, lambda count: bytes(range(count))).tobytes() == bytes(range(16))
