"""RxRx1 end to end on small generated data: from images and weights, and from outputs alone."""

import shutil

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from PIL import Image

from plcp.experiments import find_experiment, networks as pictures, reproduce, rxrx1
from plcp.experiments.networks import ResNet, standardise
from plcp.experiments.rxrx1 import held_out_experiments
from shifted_worlds import N_CLASSES, held_out, write_cells

TOLERANCE = float(np.sqrt(np.finfo(np.float32).eps))  # sums in single precision, in any order


def write_weights(root, seed=0):
    """Write WILDS' kind of checkpoint of a small network of the same build."""
    torch.manual_seed(seed)
    network = ResNet(N_CLASSES, blocks=(1, 1, 1, 1), width=4).eval()
    state = {f"model.{name}": value for name, value in network.state_dict().items()}
    path = root / "rxrx1" / "resnet50.pth"
    path.parent.mkdir(exist_ok=True)
    torch.save({"algorithm": state, "epoch": 3, "best_val_metric": 0.2}, path)
    return network


def write_outputs(root, seed=0):
    rows = held_out(240, seed)
    path = root / "rxrx1" / "rxrx1_outputs.npz"
    path.parent.mkdir(parents=True)
    names = np.array(["HUVEC-17", "RPE-08", "U2OS-04"])[rows.experiment]
    np.savez(
        path,
        logits=rows.logits.astype(np.float32),
        features=rows.features,
        experiment=names,
        label=rows.label,
    )


@pytest.fixture(scope="module")
def with_images(tmp_path_factory):
    root = tmp_path_factory.mktemp("images")
    return root, write_cells(root), write_weights(root)


def test_it_runs_from_images_and_a_checkpoint(with_images, tmp_path):
    root, table, _ = with_images
    done = reproduce("rxrx1", data_dir=root, out=tmp_path, quick=True)
    results = done.records[0]["results"]
    assert list(results["groups"]) == sorted(set(table["experiment"][table["dataset"] == "test"]))
    each = find_experiment("rxrx1").quick["rows_each"]
    assert sum(results["groups"].values()) == each * len(results["groups"]) / 2
    assert results["about"]["images"]
    assert set(done.records[0]["settings"]["data"]) == {
        "rxrx1_v1.0/metadata.csv",
        "rxrx1/resnet50.pth",
    }
    page = done.files[1].read_text(encoding="utf-8")
    assert "the convolution runs over the images" in page
    assert any(path.suffix == ".png" and path.stat().st_size > 0 for path in done.files)


def test_it_runs_from_outputs_alone_with_a_note(tmp_path):
    write_outputs(tmp_path)
    done = reproduce("rxrx1", trials=1, data_dir=tmp_path, out=tmp_path / "out", quick=True)
    page = done.files[1].read_text(encoding="utf-8")
    assert "without images the network" in page
    assert "only the first 60 rows are used" in page
    assert "the first 32 units of the network's last layer but one" in page


def test_rules_uses_no_more_features_than_they_are_given(tmp_path, monkeypatch):
    write_outputs(tmp_path)
    passed = []
    monkeypatch.setattr(rxrx1, "split_at_random", lambda rows, *given: passed.append(rows))
    monkeypatch.setattr(rxrx1, "compare_rules", lambda halves: {"about": {}})
    settings = find_experiment("rxrx1").settings
    for given in (settings, settings | {"n_features": 1}):
        rxrx1.run(given, 0, tmp_path)
    every, one = (rows.features for rows in passed)
    assert every.shape[1] > 1
    assert (one == every[:, :1]).all()


def test_logits_and_features_are_the_networks_of_the_images_of_held_out_rows(with_images):
    root, table, network = with_images
    rows, _ = held_out_experiments(root, None)
    held = table[table["dataset"] == "test"]
    assert rows.experiment.tolist() == held["experiment"].tolist()
    assert rows.label.tolist() == held["sirna_id"].tolist()
    for place in (0, 71, len(held) - 1):
        row = held.iloc[place]
        folder = root / "rxrx1_v1.0" / "images" / row["experiment"] / f"Plate{row['plate']}"
        pixels = np.asarray(Image.open(folder / f"{row['well']}_s{row['site']}.png"))
        image = torch.from_numpy(pixels.transpose(2, 0, 1) / 255).float()[None]
        with torch.no_grad():
            features = network.features(standardise(image))
            logits = network.fc(features)
        assert_allclose(rows.logits[place], logits[0].numpy(), atol=TOLERANCE)
        assert_allclose(rows.features[place], features[0].numpy(), atol=TOLERANCE)
        assert_allclose(rows.inputs[place], image[0].numpy())


def test_images_are_requested_once_and_again_for_other_weights(with_images, tmp_path, monkeypatch):
    root = tmp_path / "data"
    shutil.copytree(with_images[0], root, ignore=shutil.ignore_patterns("*outputs*"))
    calls = []
    original = pictures.resnet_outputs
    monkeypatch.setattr(
        pictures, "resnet_outputs", lambda *given: calls.append(1) or original(*given)
    )
    first, again = (held_out_experiments(root, None)[0].logits for _ in range(2))
    assert len(calls) == 1
    assert (first == again).all()
    write_weights(root, seed=1)
    assert (held_out_experiments(root, None)[0].logits != first).any()
    assert len(calls) == 2


def test_few_rows_are_the_first_of_each_experiment_from_images_and_from_outputs(
    with_images, tmp_path
):
    write_outputs(tmp_path)
    for root in (with_images[0], tmp_path):
        every, some = (held_out_experiments(root, count)[0] for count in (None, 25))
        names, counts = np.unique(some.experiment, return_counts=True)
        assert names.tolist() == sorted(set(every.experiment))
        assert counts.tolist() == [25] * len(names)
        for name in names:
            own, kept = (rows.experiment == name for rows in (every, some))
            assert_allclose(some.logits[kept], every.logits[own][:25], atol=TOLERANCE)
            assert_allclose(some.features[kept], every.features[own][:25], atol=TOLERANCE)
            assert some.label[kept].tolist() == every.label[own][:25].tolist()
            first, *_ = np.flatnonzero(kept)
            assert_allclose(some.inputs[first], every.inputs[np.flatnonzero(own)[0]])


def test_an_interrupted_pass_over_the_images_leaves_nothing_to_be_read(
    with_images, tmp_path, monkeypatch
):
    root = tmp_path / "data"
    shutil.copytree(with_images[0], root, ignore=shutil.ignore_patterns("*outputs*"))
    with monkeypatch.context() as patch:
        patch.setattr(pictures.os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            held_out_experiments(root, None)
    assert not list((root / "rxrx1").glob("*.npz"))
    assert len(held_out_experiments(root, None)[0].logits) == 180


def test_without_files_one_message_names_all_of_them(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        reproduce("rxrx1", data_dir=tmp_path, out=tmp_path / "out")
    for name in ("metadata.csv", "rxrx1_outputs.npz", "rxrx1/resnet50.pth", str(tmp_path)):
        assert name in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_images_without_weights_request_for_them(with_images, tmp_path):
    shutil.copytree(with_images[0] / "rxrx1_v1.0", tmp_path / "rxrx1_v1.0")
    with pytest.raises(FileNotFoundError, match=r"rxrx1/resnet50\.pth"):
        reproduce("rxrx1", data_dir=tmp_path, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()  # before any work is done


def test_a_table_that_holds_nothing_out_is_refused(with_images, tmp_path):
    root = tmp_path / "data"
    shutil.copytree(with_images[0], root)
    table = root / "rxrx1_v1.0" / "metadata.csv"
    table.write_text(table.read_text().replace(",test,", ",train,"))
    with pytest.raises(ValueError, match=r"metadata\.csv has no row whose dataset is 'test'"):
        held_out_experiments(root, None)
