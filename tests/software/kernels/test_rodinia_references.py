"""The references of the kernels of Rodinia against the algorithms' definitions, in f64 or in plain Python."""

import re

import numpy as np
import pytest

from caesura.software.kernels import kernel
from caesura.software.kernels.rodinia import backprop, btree, cfd, dwt2d, heartwall, leukocyte, lud, srad, streamcluster


def arrays(job):
    return {name: value.astype(float) if getattr(value, "dtype", None) == np.float32 else value
            for name, value in job.arguments.items()}


def close(job, name, expected, tolerance=1e-4):
    assert np.allclose(job.expected[name], expected, tolerance, tolerance)


def test_adjust_weight_follows_the_gradient():
    job = backprop.adjust_weight_job(2, 3, 20)
    a = arrays(job)
    for y, x in ((0, 1), (0, 16), (1, 5), (32, 16), (17, 9)):
        move = 0.3 * a["delta"][x] * (a["input"][y] if y else 1) + 0.3 * a["moves"][y, x]
        assert job.expected["moves"][y, x] == pytest.approx(move, 1e-6)
        assert job.expected["weights"][y, x] == pytest.approx(a["weights"][y, x] + move, 1e-6)
    for name in ("weights", "moves"):
        assert (job.expected[name][:, 17:] == job.arguments[name][:, 17:]).all()


@pytest.mark.parametrize("stored, fill", [(1, 1), (40, 2), (257, 256), (1000, 16), (256, 256)])
def test_a_tree_leads_every_key_to_its_record(stored, fill):
    tree = btree.Tree.random(np.random.default_rng(stored), stored, fill)

    def path(key):
        node = 0
        for _ in range(tree.height):
            slots = [k for k in range(btree.SLOTS) if tree.keys[node, k] <= key < tree.keys[node, k + 1]]
            assert len(slots) == 1
            node = tree.children[node, slots[0]]
        return node
    assert (np.diff(tree.stored) > 1).all() and (tree.keys != btree.LAST).sum(axis=1).max() <= fill
    for rank in range(0, stored, 1 + stored // 50):
        leaf = path(tree.stored[rank])
        found, = np.flatnonzero(tree.keys[leaf] == tree.stored[rank])
        assert leaf == tree.leaf(tree.stored[rank]) and tree.children[leaf, found] == rank
        assert not (tree.keys[path(tree.stored[rank] + 1)] == tree.stored[rank] + 1).any()


def flux_of(state):
    """Return the three columns of the flux of the Euler equations, and velocity and sound."""
    density, momentum, energy = state[0], state[1:4], state[4]
    velocity = momentum / density
    pressure = 0.4 * (energy - density * velocity @ velocity / 2)
    columns = np.array([[momentum[k], *(momentum * velocity[k] + pressure * np.eye(3)[k]),
                         velocity[k] * (energy + pressure)] for k in range(3)])
    return columns, velocity, np.sqrt(1.4 * pressure / density), pressure


def test_fluxes_are_of_the_euler_equations():
    job = cfd.compute_flux_job(1, 5, 60)
    a, far = arrays(job), cfd.FAR_FIELD.astype(float)
    assert {cfd.WALL, cfd.FAR} < set(a["neighbours"].flat)
    expected = np.zeros((5, 60))
    for i in range(60):
        own, velocity, sound, pressure = flux_of(a["state"][:, i])
        for face, other in enumerate(a["neighbours"][:, i]):
            normal = a["normals"][:, face, i]
            if other == cfd.WALL:
                expected[1:4, i] += pressure * normal
                continue
            state = far if other == cfd.FAR else a["state"][:, other]
            columns, v, c, _ = flux_of(state)
            expected[:, i] += 0.5 * normal @ (own + columns)
            if other >= 0:
                waves = np.linalg.norm(velocity) + np.linalg.norm(v) + sound + c
                expected[:, i] -= np.linalg.norm(normal) * 0.1 * waves * (a["state"][:, i] - state)
    close(job, "fluxes", expected)


def test_step_factors_are_of_the_fastest_wave():
    job = cfd.compute_step_factor_job(1, 5, 60)
    a = arrays(job)
    close(job, "factors", [0.5 / np.sqrt(area) / (np.linalg.norm(v) + c) for area, (_, v, c, _) in zip(
        a["areas"], map(flux_of, a["state"].T), strict=True)])
    assert (cfd.initialize_variable_job(1, 1).expected["state"].T == cfd.FAR_FIELD).all()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9, 16])
def test_the_wavelet_transform_can_be_undone(n):
    """The lifting steps backwards, edges mirrored, give the image again."""
    def undone(bands):
        count = len(bands)
        image = np.zeros_like(bands)
        image[::2], image[1::2] = bands[:(count + 1) // 2], bands[(count + 1) // 2:]

        def at(i):
            return image[max(0, 2 * (count - 1) - i if i >= count else abs(i))] if count > 1 else 0 * image[0]
        for i in range(0, count, 2):
            image[i] -= (at(i - 1) + at(i + 1) + 2) >> 2
        for i in range(1, count, 2):
            image[i] += (at(i - 1) + at(i + 1)) >> 1
        return image
    job = dwt2d.fdwt53_job(n, 21, 1, n)
    assert (undone(undone(job.expected["out"]).T).T == job.arguments["in"]).all()


def test_a_smooth_image_is_in_the_low_band():
    ramp = np.add.outer(np.arange(24) * 4, np.arange(32) * 8)
    bands = dwt2d._lifted(dwt2d._lifted(ramp.T).T)
    assert (bands[:12, :16] - ramp[::2, ::2] < 5).all()
    assert not bands[12:-1].any() and not bands[:, 16:-1].any()


def test_points_are_found_again():
    """Templates are cut from the frame, with noise, where the points belong; the kernel starts elsewhere."""
    job = heartwall.heartwall_job(12, 9, 6, 5)
    frame, side = job.arguments["frame"], 9
    apart = 0
    for k, template in enumerate(job.arguments["templates"]):
        y, x = (int(job.expected[name][k]) - side // 2 for name in ("point_rows", "point_columns"))
        window = frame[y:y + side, x:x + side]
        assert (0 <= template - window).all() and (template - window <= 0.2).all()
        assert job.expected["scores"][k] == pytest.approx(np.corrcoef(template.flat, window.flat)[0, 1], abs=1e-4)
        assert np.allclose(job.expected["templates"][k], 0.88 * template + 0.12 * window)
        apart += job.arguments["point_rows"][k] != job.expected["point_rows"][k]
    assert apart > 6


def test_the_best_place_is_the_kernels_among_equals():
    scores = np.full(700, 0.25, np.float32)
    scores[[300, 44, 610, 98]] = 0.5  # by the threads 44, 44, 98 and 98
    assert heartwall._first_highest(scores) == 44
    scores[44] = 0
    assert heartwall._first_highest(scores) == 300
    scores[300] = 0
    assert heartwall._first_highest(scores) == 98


def test_gicov_is_mean_squared_over_variance():
    job = leukocyte.gicov_job(60, 50, 3, 2, 5)
    a, border = arrays(job), leukocyte.BORDER
    for x, y in ((22, 22), (27, 37), (25, 30)):
        best = 0
        for radius in (8, 10, 12):
            angles = 2 * np.pi * np.arange(0, 32, 2) / 32
            place = tuple((c + np.trunc(radius * np.round(f(angles), 9))).astype(int)
                          for c, f in ((x, np.cos), (y, np.sin)))
            slopes = a["along_x"][place] * np.cos(angles) + a["along_y"][place] * np.sin(angles)
            best = max(best, slopes.mean() ** 2 / slopes.var(ddof=1))
        assert job.expected["result"][x, y] == pytest.approx(best, 1e-4)
    assert not job.expected["result"][:border].any() and not job.expected["result"][:, -border:].any()


def test_the_table_of_cosines_is_the_sources():
    source = re.search(r"cosine\[DIRECTIONS\] = {([^}]*)}", kernel("gicov").cuda_path.read_text())
    assert source and [float(x) for x in re.findall(r"(\S+)f\b", source[1])] == pytest.approx(
        leukocyte.COSINE, abs=1e-9)


def test_tiles_decompose_a_matrix():
    """The three steps over all tiles give factors whose product is the matrix."""
    size = 80
    before = np.random.default_rng(3).uniform(-1, 1, (size, size)).astype(np.float32) + size * np.eye(size, dtype="f4")
    after = before.copy()
    for offset in range(0, size, lud.TILE):
        lud.decompose_diagonal(after, offset)
        lud.decompose_perimeter(after, offset)
        lud.decompose_internal(after, offset)
    factors = np.tril(after, -1).astype(float) + np.eye(size), np.triu(after).astype(float)
    assert np.allclose(factors[0] @ factors[1], before, 1e-5, 1e-4)


def test_sums_are_of_each_block():
    job = srad.reduce_job(1500, 3, 5)
    for name in ("sums", "squares"):
        values = job.arguments[name][::3].astype(float)
        after = job.expected[name]
        assert after[::512 * 3] == pytest.approx([values[k:k + 512].sum() for k in (0, 512, 1024)])
        assert (after != job.arguments[name]).sum() == 3


def test_coefficients_are_of_the_local_variation():
    """Yu and Acton 2002, equations 33 and 35."""
    job = srad.srad_job(9, 13, 5)
    image, q0 = job.arguments["image"].astype(float), 0.05
    for x in range(13):
        for y in range(9):
            here = image[x, y]
            d = np.array([image[max(x - 1, 0), y], image[min(x + 1, 12), y], image[x, max(y - 1, 0)],
                          image[x, min(y + 1, 8)]]) - here
            gradient, laplacian = (d ** 2).sum() / here ** 2, d.sum() / here
            q = (gradient / 2 - laplacian ** 2 / 16) / (1 + laplacian / 4) ** 2
            c = min(max(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0), 1)
            assert job.expected["coefficient"][x, y] == pytest.approx(c, abs=1e-4)
    assert 0 < (job.expected["coefficient"] == 1).sum() < 100


def test_points_change_over_where_it_is_cheaper():
    job = streamcluster.compute_cost_job(200, 4, 6, 5)
    a, points = arrays(job), job.arguments["points"].view(streamcluster.POINT).reshape(-1)
    expected = a["work"].copy()
    for i, (weight, centre, cost) in enumerate(points):
        there = weight * ((a["coordinates"][:, i] - a["coordinates"][:, a["candidate"]]) ** 2).sum()
        assert job.expected["changes"][i] == (there < cost)
        expected[i, 6 if there < cost else a["slot_of"][centre]] += -abs(there - cost) if there < cost else cost - there
    close(job, "work", expected, 1e-5)
    assert 20 < job.expected["changes"].sum() < 180


@pytest.mark.parametrize("name, module", [
    ("compute_step_factor", cfd), ("compute_flux", cfd), ("heartwall", heartwall), ("gicov", leukocyte),
    ("lud_internal", lud), ("srad", srad), ("compute_cost", streamcluster)])
def test_references_depend_on_contraction(name, module, monkeypatch):
    """With a product and a sum rounded one by one the reference is another: the inputs tell the two apart."""
    fused = kernel(name).job("tiny").expected
    monkeypatch.setattr(module, "fma", lambda a, b, c: np.multiply(a, b, dtype=np.float32) + c)
    assert any((fused[array] != value).any() for array, value in kernel(name).job("tiny").expected.items())
