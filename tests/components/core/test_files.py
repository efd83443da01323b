"""Files that appear whole or not at all, and digests of what lies in them."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from towpath.components.core import files
from towpath.components.core.errors import BundleError, DataError, RetryError


def test_a_file_is_written_with_its_folders_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file.bin"
    files.write_bytes(path, b"one")
    files.write_bytes(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_text_is_utf8(tmp_path: Path) -> None:
    files.write_text(tmp_path / "a", "ünï – code")
    assert (tmp_path / "a").read_bytes() == "ünï – code".encode()


def test_a_write_that_fails_leaves_no_trace(tmp_path: Path) -> None:
    """A folder with something in it is not replaced by a file; what was being written goes."""
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "kept").write_text("kept")
    with pytest.raises(OSError, match="taken"):
        files.write_bytes(taken, b"new")
    assert list(tmp_path.iterdir()) == [taken]
    assert (taken / "kept").read_text() == "kept"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"deep": [float("-inf")]}, object()])
def test_what_is_no_json_is_refused_and_the_old_file_stays(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "a.json"
    files.write_json(path, {"old": 1})
    with pytest.raises((ValueError, TypeError)):
        files.write_json(path, value)
    assert files.read_json(path, "the file") == {"old": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_json_comes_back_as_it_went(tmp_path: Path) -> None:
    value = {"text": "ünï – \n", "items": [1, 0.1, True, None], "": {}}
    files.write_json(tmp_path / "a.json", value)
    assert files.read_json(tmp_path / "a.json", "the file") == value


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff\xfe", b"[" * 200_000])
def test_unreadable_json_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError) as raised:
        files.read_json(path, "the manifest")
    assert str(path) in str(raised.value)
    assert "the manifest" in str(raised.value)


def _read(path: Path, content: object = None) -> Any:
    if content is not None:
        path.write_text(json.dumps(content))
    return files.read_versioned(path, 3, lambda value: int(value["size"]), BundleError, "Take another.")


def test_a_versioned_file_is_parsed(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.json", {"format_version": 3, "size": 5}) == 5


def test_a_versioned_file_that_is_not_there_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BundleError) as raised:
        _read(tmp_path / "a.json")
    assert str(tmp_path) in raised.value.message
    assert "a.json" in raised.value.message
    assert raised.value.hint == "Take another."


@pytest.mark.parametrize("content", [{"format_version": 4, "size": 5}, {"size": 5}, [3], "3", 3])
def test_another_format_version_is_named_with_the_one_that_is_read(tmp_path: Path, content: object) -> None:
    found = content.get("format_version") if isinstance(content, dict) else None
    with pytest.raises(BundleError) as raised:
        _read(tmp_path / "a.json", content)
    assert f"{found}" in str(raised.value)
    assert " 3" in str(raised.value)


@pytest.mark.parametrize("fields", [{}, {"size": None}, {"size": "big"}])
def test_a_field_that_is_missing_or_wrong_is_the_callers_error(tmp_path: Path, fields: dict[str, Any]) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(BundleError) as raised:
        _read(path, {"format_version": 3, **fields})
    assert str(path) in str(raised.value)
    assert isinstance(raised.value.__cause__, (KeyError, TypeError, ValueError))


def test_a_finished_folder_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for number in (1, 2):
        work = files.partial(out)
        (work / "deep").mkdir(parents=True)
        (work / "deep" / f"{number}").write_text(f"{number}")
        files.publish(work, out)
        assert [path.name for path in (out / "deep").iterdir()] == [f"{number}"]
        assert list(tmp_path.iterdir()) == [out]


def test_killed_at_any_moment_the_old_folder_or_the_new_one_is_there_whole(tmp_path: Path) -> None:
    """A process publishes again and again, and is killed: readers see one of the two, never a gap or a part."""
    out = tmp_path / "out"
    program = (
        "import sys; from pathlib import Path; from towpath.components.core import files\n"
        "out, number = Path(sys.argv[1]), 0\n"
        "while True:\n"
        "    work = files.partial(out); number += 1\n"
        "    import shutil; shutil.rmtree(work, ignore_errors=True); work.mkdir()\n"
        "    for name in range(20): (work / str(name)).write_text(str(number))\n"
        "    files.publish(work, out); print(number, flush=True)\n"
    )
    chance = random.Random(5)
    for _ in range(8):
        with subprocess.Popen([sys.executable, "-c", program, str(out)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(chance.randrange(1, 12)):
                process.stdout.readline()
            for _ in range(chance.randrange(200)):  # reading meanwhile: there is no moment without it
                assert len({path.name for path in out.iterdir()}) == 20
            process.kill()
        assert len({(path.name) for path in out.iterdir()}) == 20
        assert len({path.read_text() for path in out.iterdir()}) == 1


def test_where_folders_cannot_be_exchanged_the_old_one_comes_back_on_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    out, work = tmp_path / "out", tmp_path / "work"
    for folder, text in ((out, "old"), (work, "new")):
        folder.mkdir()
        (folder / "a").write_text(text)
    with monkeypatch.context() as patch:
        rename = Path.rename
        patch.setattr(Path, "rename", lambda path, to: rename(path, to if path != work else tmp_path / "no" / "such"))
        with pytest.raises(FileNotFoundError):
            files.publish(work, out)
    assert (out / "a").read_text() == "old"
    files.publish(work, out)
    assert (out / "a").read_text() == "new"
    assert list(tmp_path.iterdir()) == [out]


def test_unfinished_work_lies_beside_its_place(tmp_path: Path) -> None:
    assert files.partial(tmp_path / "model").parent == tmp_path
    assert files.partial(tmp_path / "model") != tmp_path / "model"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_can_be_tried_again(tmp_path: Path, number: int) -> None:
    with pytest.raises(RetryError, match="a\\.bin") as raised, files.translate_os_errors(tmp_path / "a.bin"):
        raise OSError(number, os.strerror(number))
    assert raised.value.hint


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_place_without_permission_is_named(tmp_path: Path, number: int) -> None:
    with pytest.raises(DataError, match="a\\.bin"), files.translate_os_errors(tmp_path / "a.bin"):
        raise OSError(number, os.strerror(number))


def test_other_errors_pass_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError), files.translate_os_errors(tmp_path):
        tmp_path.read_bytes()
    with pytest.raises(KeyError), files.translate_os_errors(tmp_path):
        raise KeyError("a")


def _tree(folder: Path, content: dict[str, bytes]) -> str:
    for name, data in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return files.tree_digest(folder)


def test_a_trees_digest_does_not_depend_on_where_it_lies_or_the_order_of_writing(tmp_path: Path) -> None:
    content = {"a": b"1", "deep/b": b"2", "deep/c": b""}
    assert _tree(tmp_path / "x", content) == _tree(tmp_path / "y" / "z", dict(reversed(content.items())))


@pytest.mark.parametrize(
    "other",
    [
        {"a": b"1", "deep/b": b"3"},
        {"a": b"1", "deep/c": b"2"},
        {"a": b"1", "b": b"2"},
        {"a": b"2", "deep/b": b"1"},
        {"a": b"1"},
        {"a": b"1", "deep/b": b"2", "c": b""},
    ],
)
def test_a_trees_digest_changes_with_names_and_content(tmp_path: Path, other: dict[str, bytes]) -> None:
    assert _tree(tmp_path / "one", {"a": b"1", "deep/b": b"2"}) != _tree(tmp_path / "other", other)


def test_a_single_file_has_a_tree_digest_of_its_name_and_content(tmp_path: Path) -> None:
    _tree(tmp_path, {"x/a": b"1", "y/a": b"1", "z/a": b"2", "x/b": b"1"})
    first = files.tree_digest(tmp_path / "x" / "a")
    assert files.tree_digest(tmp_path / "y" / "a") == first
    assert files.tree_digest(tmp_path / "z" / "a") != first
    assert files.tree_digest(tmp_path / "x" / "b") != first


@pytest.mark.parametrize("size", [0, 1, files.CHUNK, files.CHUNK + 1])
def test_a_files_digest_is_its_sha256_whatever_its_size(tmp_path: Path, size: int) -> None:
    data = b"x" * size
    (tmp_path / "a").write_bytes(data)
    assert files.file_digest(tmp_path / "a") == hashlib.sha256(data).hexdigest()
