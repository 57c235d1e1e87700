"""What a message says of a name that is not there."""

from caesura.software.kernels import KERNELS
from caesura.software.names import alternatives


def test_of_many_names_only_the_one_that_was_meant():
    assert alternatives("pathfindr", list(KERNELS)) == "did you mean 'pathfinder'?"


def test_of_a_few_names_all_of_them():
    assert alternatives("gtx48", ["gtx480", "ecp5"]) == "did you mean 'gtx480'? There are gtx480, ecp5"


def test_where_none_is_like_it_all_of_them_up_to_sixty():
    assert alternatives("zzzz", list(KERNELS)) == "there are " + ", ".join(KERNELS)
    assert alternatives("zzzz", [f"a{n}" for n in range(62)]).endswith(", a58, a59 and 2 more")
