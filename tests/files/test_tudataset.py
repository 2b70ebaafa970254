"""The TUDataset reader: what it reads, and what it says of malformed files."""

import zipfile

import numpy as np
import pytest

from mercer.files import read_tudataset
from mercer.kernels import EdgeAttributes, EdgeHistogram, SetKernel, ShortestPath, WeisfeilerLehman
from mercer.kernels import Linear as LinearKernel

# A labelled triangle and a path of two nodes; the first edge is listed twice, one in one direction only.
FILES = {
    "A": "1, 2\n2, 1\n1, 2\n2, 3\n3, 2\n3, 1\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "0\n1\n0\n0\n1\n",
    "edge_labels": "7\n7\n7\n8\n8\n7\n8\n8\n",
    "node_attributes": "0.5, 1\n1, 1\n2, 1\n3, 1\n4, 1\n",
}


def written(folder, **changes):
    for name, text in (FILES | changes).items():
        if text is not None:
            (folder / f"DS_{name}.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def test_folder_and_archive_are_the_same(tmp_path):
    folder = tmp_path / "DS"
    folder.mkdir()
    graphs, y = read_tudataset(written(folder))
    with zipfile.ZipFile(tmp_path / "DS.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"DS/{file.name}")
    again, targets = read_tudataset(tmp_path / "DS.zip")
    assert again == graphs
    assert (targets == y).all()
    assert y.tolist() == [1, -1]
    assert graphs.starts.tolist() == [0, 3, 5]
    assert np.diff(graphs.arcs).tolist() == [2, 2, 2, 1, 1]
    assert graphs.attributes[:, 0].tolist() == [0.5, 1, 2, 3, 4]


def test_what_is_read_is_what_lists_of_edges_say(tmp_path):
    graphs, _ = read_tudataset(written(tmp_path))
    same = [([(0, 1), (1, 2), (0, 2)], [0, 1, 0], [7, 8, 7]), ([(0, 1)], [0, 1], [8])]
    for kernel in (WeisfeilerLehman(2), ShortestPath(), EdgeHistogram()):
        assert (kernel(graphs) == kernel(same)).all()
        assert (kernel(graphs, same) == kernel(same)).all()
    assert SetKernel(LinearKernel())(graphs)[1, 1] == 3.5**2 + 1


def test_graphs_may_have_no_labels_and_targets_may_be_numbers(tmp_path):
    changes = {"node_labels": None, "edge_labels": None, "graph_labels": None, "graph_attributes": "0.5\n1.5\n"}
    graphs, y = read_tudataset(written(tmp_path, **changes))
    assert y.tolist() == [0.5, 1.5]
    assert ShortestPath()(graphs)[0, 0] == 36


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": "1, 2\n2, x\n"}, r"DS_A.txt, line 2: expected numbers between commas but got '2, x'"),
        ({"A": "1, 2\n2, 1, 3\n"}, r"DS_A.txt, line 2: expected 2 numbers but got 3"),
        ({"A": "1, 2\n2, 9\n"}, r"DS_A.txt, line 2: the edge \(2, 9\) leaves the nodes 1 to 5"),
        ({"A": "1, 2\n3, 4\n"}, r"DS_A.txt, line 2: the edge \(3, 4\) joins two graphs, 1 and 2"),
        ({"graph_indicator": "1\n2\n1\n2\n2\n"}, r"DS_graph_indicator.txt, line 3: graph 1 follows graph 2"),
        ({"graph_indicator": "1\n1\n1\n3\n3\n"}, r"DS_graph_indicator.txt, line 4: graph 3 follows graph 1"),
        ({"node_labels": "1\n2\n"}, r"DS_node_labels.txt has 2 lines, but 5 are expected"),
        ({"node_labels": "1\n2\n0.5\n1\n1\n"}, r"DS_node_labels.txt, line 3: expected whole numbers"),
        ({"graph_labels": "1\n"}, r"DS_graph_labels.txt has 1 lines, but 2 are expected"),
        ({"A": b"1, 2\n2, \xe9\n"}, r"DS_A.txt, line 2: expected text \(UTF-8\) but found other bytes, the first 0xe9"),
        ({"A": "1, 2\n2, nan\n"}, r"DS_A.txt, line 2: expected finite numbers but got '2, nan'"),
        ({"A": "1, 2\n2, 1e300\n"}, r"DS_A.txt, line 2: expected whole numbers"),
        ({"node_attributes": "1\n1\nnan\n1\n1\n"}, r"DS_node_attributes.txt, line 3: expected finite numbers"),
        ({"graph_indicator": "1\n1\n1,5\n2\n2\n"}, r"DS_graph_indicator.txt, line 3: expected 1 number but got 2"),
        ({"graph_indicator": "1,5\n" * 5}, r"DS_graph_indicator.txt, line 1: expected 1 number but got 2: '1,5'"),
        ({"edge_attributes": "1\n" * 7}, r"DS_edge_attributes.txt has 7 lines, but 8 are expected"),
        ({"edge_attributes": "1\n" * 6 + "1,1\n1\n"}, r"DS_edge_attributes.txt, line 7: expected 1 number but got 2"),
        ({"graph_indicator": None}, r"has no file DS_graph_indicator.txt"),
        ({"graph_labels": None}, r"neither a file \*_graph_labels.txt nor"),
    ],
)
def test_malformed_files_are_named_with_the_line(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        read_tudataset(written(tmp_path, **changes))


def test_attributes_of_edges(tmp_path):
    lines = "1, 9\n1, 9\n5, 5\n2, 8\n2, 8\n3, 7\n4, 6\n4, 6\n"
    graphs, _ = read_tudataset(written(tmp_path, edge_attributes=lines))
    same = [
        ([(0, 1), (1, 2), (0, 2)], [0, 1, 0], [7, 8, 7], None, [[1, 9], [2, 8], [3, 7]]),
        ([(0, 1)], [0, 1], [8], None, [[4, 6]]),
    ]
    assert [edges.tolist() for edges in EdgeAttributes()(graphs)] == [[[1, 9], [3, 7], [2, 8]], [[4, 6]]]
    assert (EdgeAttributes()(graphs)[0] == EdgeAttributes()(same)[0]).all()
    (tmp_path / "DS_edge_attributes.txt").unlink()
    assert graphs.nbytes == read_tudataset(tmp_path)[0].nbytes + 16 * 2 * 4


def test_only_the_files_of_the_format_are_read(tmp_path):
    (tmp_path / "README.txt").write_bytes(b"caf\xe9")
    lines = {name: text.replace("\n", "\r\n") for name, text in FILES.items()}
    graphs, y = read_tudataset(written(tmp_path, **lines))
    assert len(graphs) == len(y) == 2
    _, labels = read_tudataset(written(tmp_path, graph_labels="1,0\n0,1\n"))
    assert labels.tolist() == [[1, 0], [0, 1]]


def test_what_is_no_data_set_is_refused(tmp_path):
    with pytest.raises(ValueError, match="one data set"):
        read_tudataset(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no folder and no archive '.*absent.zip'"):
        read_tudataset(tmp_path / "absent.zip")
    (tmp_path / "text.zip").write_text("1, 2")
    with pytest.raises(ValueError, match=r"text.zip is neither a folder nor a zip"):
        read_tudataset(tmp_path / "text.zip")


def test_a_damaged_archive_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "DS.zip", "w") as archive:
        for name, text in FILES.items():
            archive.writestr(f"DS/DS_{name}.txt", text)
    content = (tmp_path / "DS.zip").read_bytes()
    (tmp_path / "DS.zip").write_bytes(content.replace(b"1, 2\n2, 1", b"1, 2\n2, 5"))
    with pytest.raises(ValueError, match=r"DS.zip: the archive is damaged: Bad CRC-32 for file 'DS/DS_A.txt'"):
        read_tudataset(tmp_path / "DS.zip")
