"""RxRx1: the layout of WILDS, images one by one, and a network's outputs."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

from plcp.datasets import CellOutputs, CellSites, fetch_rxrx1, rxrx1_files

OUTPUTS = "rxrx1/rxrx1_outputs.npz"
HEADER = "site_id,well_id,cell_type,dataset,experiment,plate,well,site,well_type,sirna,sirna_id\n"
ROWS = [  # cell type, dataset, experiment, plate, well, site, siRNA
    ("HEPG2", "train", "HEPG2-01", 1, "B03", 1, 513),
    ("HEPG2", "train", "HEPG2-01", 1, "B03", 2, 513),
    ("U2OS", "val", "U2OS-04", 4, "O23", 2, 1138),
    ("RPE", "test", "RPE-11", 2, "C07", 2, 0),
]
SPLITS = ["train", "id_test", "val", "test"]
PLACES = [
    "HEPG2-01/Plate1/B03_s1.png",
    "HEPG2-01/Plate1/B03_s2.png",
    "U2OS-04/Plate4/O23_s2.png",
    "RPE-11/Plate2/C07_s2.png",
]


def write_table(root, folder="rxrx1_v1.0", rows=ROWS):
    (root / folder / "images").mkdir(parents=True)
    lines = [f"s,w,{a},{b},{c},{d},{e},{f},treatment,s1,{g}\n" for a, b, c, d, e, f, g in rows]
    (root / folder / "metadata.csv").write_text(HEADER + "".join(lines))


def write_outputs(root, **changes):
    arrays = {
        "logits": np.arange(12.0).reshape(4, 3),
        "features": np.ones((4, 5), dtype=np.float32),
        "label": np.array([0, 2, 1, 1]),
        "experiment": np.array(["A", "B", "A", "B"]),
    } | changes
    (root / "rxrx1").mkdir(exist_ok=True)
    kept = {name: array for name, array in arrays.items() if array is not None}
    np.savez(root / OUTPUTS, **kept)
    return kept


@pytest.mark.parametrize("folder", ["rxrx1", "rxrx1_v1.0"])
def test_the_table_of_wilds(tmp_path, folder):
    write_table(tmp_path, folder)
    data = fetch_rxrx1(tmp_path)
    assert isinstance(data, CellSites)
    assert data.sites["split"].tolist() == SPLITS
    assert data.sites["path"].tolist() == PLACES
    assert data.sites["label"].tolist() == [row[-1] for row in ROWS]
    for column, place in {
        "cell_type": 0,
        "experiment": 2,
        "plate": 3,
        "well": 4,
        "site": 5,
    }.items():
        assert data.sites[column].tolist() == [row[place] for row in ROWS]
    table = tmp_path / folder / "metadata.csv"
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    assert data.files == rxrx1_files(tmp_path) == {f"{folder}/metadata.csv": digest}
    assert data.paths == (table, tmp_path / folder / "images")


def test_images_are_read_when_requested(tmp_path, rng):
    write_table(tmp_path)
    images = fetch_rxrx1(tmp_path).images  # none is there yet
    assert len(images) == 4
    pixels = rng.integers(0, 256, (6, 7, 3)).astype(np.uint8)
    path = tmp_path / "rxrx1_v1.0/images" / PLACES[3]
    path.parent.mkdir(parents=True)
    Image.fromarray(pixels).save(path)
    image = images[np.int64(3)]
    assert image.shape == (3, 6, 7)
    assert image.dtype == np.float32
    for channel in range(3):
        assert_array_equal(image[channel], pixels[:, :, channel] / np.float32(255))
    with pytest.raises(FileNotFoundError, match=r"HEPG2-01/Plate1/B03_s1.png is not there"):
        images[0]
    with pytest.raises(IndexError):
        images[4]
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"RPE-11/Plate2/C07_s2.png cannot be read"):
        images[3]


def test_outputs_of_a_network(tmp_path):
    arrays = write_outputs(tmp_path)
    data = fetch_rxrx1(tmp_path)
    assert isinstance(data, CellOutputs)
    for name, array in arrays.items():
        assert_array_equal(getattr(data, name), array)
    digest = hashlib.sha256((tmp_path / OUTPUTS).read_bytes()).hexdigest()
    assert data.files == rxrx1_files(tmp_path) == {OUTPUTS: digest}


def test_images_go_before_outputs_and_a_table_alone_is_nothing(tmp_path):
    write_table(tmp_path)
    write_outputs(tmp_path)
    assert isinstance(fetch_rxrx1(tmp_path), CellSites)
    (tmp_path / "rxrx1_v1.0/images").rmdir()
    assert isinstance(fetch_rxrx1(tmp_path), CellOutputs)


def test_kaggles_table_is_not_enough(tmp_path):
    (tmp_path / "rxrx1").mkdir()
    pd.DataFrame({"well": ["B03"]}).to_parquet(tmp_path / "rxrx1/rxrx1_kaggle_metadata.parquet")
    for function in (fetch_rxrx1, rxrx1_files):
        with pytest.raises(FileNotFoundError) as caught:
            function(tmp_path)
        message = str(caught.value)
        assert "rxrx1_v1.0/metadata.csv, rxrx1_v1.0/images\n  or rxrx1/rxrx1_outputs.npz" in message
        assert "rxrx1_kaggle_metadata.parquet alone is not enough" in message
        assert "https://worksheets.codalab.org/" in message


TABLE_DAMAGE = {
    "no rows": HEADER,
    "empty": "",
    "no label": HEADER.replace(",sirna_id", "") + "s,w,A,test,A-1,1,B02,1,treatment,s1\n",
    "another split": HEADER + "s,w,A,hidden,A-1,1,B02,1,treatment,s1,5\n",
    "a blank well": HEADER + "s,w,A,test,A-1,1,,1,treatment,s1,5\n",
    "a blank label": HEADER + "s,w,A,test,A-1,1,B02,1,treatment,s1,\n",
    "half a site": HEADER + "s,w,A,test,A-1,1,B02,1.5,treatment,s1,5\n",
}


@pytest.mark.parametrize("content", TABLE_DAMAGE.values(), ids=TABLE_DAMAGE)
def test_a_damaged_table_is_named(tmp_path, content):
    write_table(tmp_path)
    path = tmp_path / "rxrx1_v1.0/metadata.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=f"{path} cannot be read .*Remove it"):
        fetch_rxrx1(tmp_path)


OUTPUT_DAMAGE = {
    "no features": {"features": None},
    "a row less": {"features": np.ones((3, 5))},
    "logits of one class": {"logits": np.ones(4)},
    "logits of three axes": {"logits": np.ones((4, 3, 2))},
    "labels as a table": {"label": np.ones((4, 1), dtype=int)},
    "a label beyond": {"label": np.array([0, 1, 2, 3])},
    "a negative label": {"label": np.array([0, 1, 2, -1])},
    "half a label": {"label": np.array([0, 1, 2, 0.5])},
    "a logit that is none": {"logits": np.full((4, 3), np.nan)},
    "a feature that is none": {"features": np.full((4, 5), np.inf)},
    "objects": {"experiment": np.array(["A", "B", 3, None], dtype=object)},
    "no rows": {
        "logits": np.ones((0, 3)),
        "features": np.ones((0, 5)),
        "label": np.ones(0, dtype=int),
        "experiment": np.ones(0),
    },
}


@pytest.mark.parametrize("changes", OUTPUT_DAMAGE.values(), ids=OUTPUT_DAMAGE)
def test_damaged_outputs_are_named(tmp_path, changes):
    write_outputs(tmp_path, **changes)
    with pytest.raises(ValueError, match=f"{tmp_path / OUTPUTS} cannot be read"):
        fetch_rxrx1(tmp_path)
