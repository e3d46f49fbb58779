"""Pictures -> faces: where they are, and one of them brought so that its eyes and mouth lie in fixed places.

Places are pixels of the upright picture, counted from its upper left corner: a picture of w pixels reaches from 0 to w,
and the middle of its first pixel is 0.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from backend.facemodels import LIKELY, MESH_SIDE, SAME, SIDE, Detection, Models, overlap, parts

ALIGNED = 256
TEMPLATE = np.array([[98.0, 116.0], [158.0, 116.0], [128.0, 184.0]])
"""Where the left eye, the right eye and the mouth of an aligned face lie."""
AROUND = 1.5
"""The side of the square that the mesh is given, in sides of the detector's box (MediaPipe's own number)."""
FARTHER, NEARER = 1.5, 0.5
"""The squares of the second look, in longer sides of the picture."""
FURTHER = 0.6
"""The lowest score of a second face in one picture, and of any in the second look: there letters, or a palette with its
colours, look like faces, too."""
SURE, NEAR = 0.65, 0.4
"""Where the mesh's presence is below LIKELY, a face needs this score, and eyes and mouth of both models this close
(`apart`). Presence alone would leave out more drawn faces whose prompts said "dark" than others."""
BRIGHTNESS, POWERS = 0.55, (0.35, 1.5)
"""How bright the middle of what the mesh is given is made, and with which powers."""
MOST = 20
"""Of more detections in one picture only the likeliest are looked at."""


@dataclass(frozen=True, eq=False)
class Face:
    """One face on which both models agree: the detector's score and box (x0, y0, x1, y1), the mesh's presence, the
    centres of the left eye, right eye, nose and mouth (float32 of shape (4, 2)), and the box around the whole mesh."""

    score: float
    box: np.ndarray
    presence: float
    points: np.ndarray
    outline: np.ndarray

    def area(self) -> float:
        return float(np.prod(self.box[2:] - self.box[:2]))


def similarity(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The turn, scale and shift that bring points nearest to others, as a matrix (2, 3): least squares in the target.

    Twice as large and 5 to the right; then a quarter turn about the origin:

    >>> square = np.array([[0, 0], [2, 0], [2, 2], [0, 2]])
    >>> similarity(square, 2 * square + [5, 0]).round(6).tolist() == [[2, 0, 5], [0, 2, 0]]
    True
    >>> similarity(square, np.array([[0, 0], [0, 2], [-2, 2], [-2, 0]])).round(6).tolist() == [[0, -1, 0], [1, 0, 0]]
    True

    source, target: (n, 2), n of 2 or more. Raises ValueError where the source's points are all one, or not finite.
    Source: Umeyama, "Least-squares estimation of transformation parameters between two point patterns", IEEE PAMI 13,
    1991. In two dimensions, with points as complex numbers z and w less their means, scale and turn are
    sum(conj(z) w) / sum(|z|^2); a mirror image is never an answer.
    """
    first, second = (
        points[:, 0] + 1j * points[:, 1] for points in (np.asarray(source, float), np.asarray(target, float))
    )
    centred = first - first.mean()
    size = float(np.sum(np.abs(centred) ** 2))
    if not (np.isfinite(first).all() and np.isfinite(second).all() and size > 0):
        raise ValueError("the points are not finite, or all in one place")
    turn = np.sum(np.conj(centred) * (second - second.mean())) / size
    shift = second.mean() - turn * first.mean()
    return np.array([[turn.real, -turn.imag, shift.real], [turn.imag, turn.real, shift.imag]])


def moved(points: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Points (n, 2) where a matrix (2, 3) brings them."""
    return points @ matrix[:, :2].T + matrix[:, 2]


def inverse(matrix: np.ndarray) -> np.ndarray:
    """The matrix (2, 3) that undoes another."""
    back = np.linalg.inv(matrix[:, :2])
    return np.column_stack([back, -back @ matrix[:, 2]])


def warped(pixels: np.ndarray, matrix: np.ndarray, side: int, edge: bool) -> np.ndarray:
    """A square of a picture, uint8 (side, side, 3): `matrix` brings the picture's places to the square's.

    Where the square is coarser, pixels are averaged first, so that no pattern appears that the picture does not have.
    Outside the picture lies its edge's colour where `edge`, else black.
    """
    import cv2

    scale = float(np.sqrt(abs(np.linalg.det(matrix[:, :2]))))
    corners = moved(np.array([[0, 0], [side, 0], [side, side], [0, side]], float), inverse(matrix))
    high = np.array(pixels.shape[1::-1])
    margin = 2 + 2 / scale
    low = np.clip(np.floor(corners.min(axis=0) - margin), 0, high - 1).astype(int)
    end = np.clip(np.ceil(corners.max(axis=0) + margin), low + 1, high).astype(int)
    part = pixels[low[1] : end[1], low[0] : end[0]]
    size = end - low
    if scale < 1:
        smaller = np.maximum(1, np.rint(size * scale)).astype(int)
        part = cv2.resize(part, tuple(int(n) for n in smaller), interpolation=cv2.INTER_AREA)
        steps = size / smaller
    else:
        steps = np.ones(2)
    placed = np.column_stack([matrix[:, :2] * steps, matrix[:, :2] @ low + matrix[:, 2]])
    placed[:, 2] += placed[:, :2] @ [0.5, 0.5] - 0.5  # OpenCV counts from the middle of the first pixel
    border = cv2.BORDER_REPLICATE if edge else cv2.BORDER_CONSTANT
    return cv2.warpAffine(part, placed, (side, side), flags=cv2.INTER_LINEAR, borderMode=border)


def aligned(pixels: np.ndarray, points: np.ndarray) -> np.ndarray:
    """A face in its place: uint8 (ALIGNED, ALIGNED, 3). pixels: uint8 (height, width, 3).

    `points` are a Face's, (4, 2) or flat. Beyond the picture's edge its last colour goes on. Raises ValueError where
    the points are no three places.
    """
    return warped(pixels, similarity(np.asarray(points, float).reshape(4, 2)[[0, 1, 3]], TEMPLATE), ALIGNED, edge=True)


def outline(points: np.ndarray) -> np.ndarray:
    """The smallest upright box (x0, y0, x1, y1) around points (n, 2)."""
    return np.concatenate([points.min(axis=0), points.max(axis=0)])


def squares(width: int, height: int) -> list[tuple[float, float, float]]:
    """The second look's squares, each its left, top and side: one that goes beyond the picture, for a face that fills
    it, and up to nine that overlap by half, for a small one.

    >>> squares(100, 50)
    [(-25.0, -50.0, 150.0), (0.0, 0.0, 50.0), (25.0, 0.0, 50.0), (50.0, 0.0, 50.0)]
    """
    longer = float(max(width, height))
    side = FARTHER * longer
    found = [((width - side) / 2, (height - side) / 2, side)]
    side = NEARER * longer
    rows, columns = (
        [(length - side) / 2] if length <= side else [0.0, (length - side) / 2, length - side]
        for length in (float(height), float(width))
    )
    return found + [(left, top, side) for top, left in product(rows, columns)]


def evenly_lit(square: np.ndarray) -> np.ndarray:
    """A square picture (uint8, RGB), made brighter or darker by a power so that its middle half is about BRIGHTNESS.

    Without it the mesh was sure of 57 of the starter's 90 identities whose prompts said "dark", and of 89 or 90 of the
    90 of every other tone.
    """
    quarter = len(square) // 4
    mean = float(square[quarter:-quarter, quarter:-quarter].mean()) / 255
    power = float(np.clip(np.log(BRIGHTNESS) / np.log(np.clip(mean, 1e-3, 0.99)), *POWERS))
    return np.rint(255 * (np.arange(256) / 255) ** power).astype("uint8")[square]


def apart(points: np.ndarray, others: np.ndarray) -> float:
    """How far two sightings of one face (4, 2) are apart: the largest distance of an eye or the mouth from itself, in
    units of the second's size (root mean square distance of eyes and mouth from their middle).

    Eyes 2 apart and the mouth 2 below them lie 1.44, 1.44 and 1.78 squared from their middle: a size of sqrt(1.556).

    >>> face = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> round(apart(face + [0.5, 0], face), 3)
    0.401
    """
    first, second = points[[0, 1, 3]], others[[0, 1, 3]]
    size = np.sqrt(np.mean(np.sum((second - second.mean(axis=0)) ** 2, axis=1)))
    return float(np.linalg.norm(first - second, axis=1).max() / size) if size > 0 else np.inf


@dataclass(frozen=True, eq=False)
class _Seen:
    """What the mesh saw: its presence, its 468 points, and the centres of eyes, nose and mouth."""

    presence: float
    points: np.ndarray
    centres: np.ndarray


class Finder:
    """Finds the faces of pictures, in one thread."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def find(self, pixels: np.ndarray) -> list[Face]:
        """The faces in a picture (uint8, (height, width, 3)), the largest first: those that the detector finds (a score
        of LIKELY or more) and the mesh confirms, by its presence or because it sees eyes and mouth in the same places.

        The whole picture is looked at once; only where nothing is found there, parts of it and more than it. A face
        from the side or behind is mostly not confirmed: it has no place among aligned ones.
        """
        height, width = pixels.shape[:2]
        side = float(max(width, height))
        faces = self._look(pixels, [((width - side) / 2, (height - side) / 2, side)])
        return faces or self._look(pixels, squares(width, height), FURTHER)

    def _look(self, pixels: np.ndarray, places: list[tuple[float, float, float]], lowest: float = LIKELY) -> list[Face]:
        found: list[Detection] = []
        for left, top, side in places:
            scale = SIDE / side
            matrix = np.array([[scale, 0, -left * scale], [0, scale, -top * scale]])
            back = inverse(matrix)
            for one in self._models.detect(warped(pixels, matrix, SIDE, edge=False)):
                box = moved(one.box.reshape(2, 2), back).ravel()
                found.append(Detection(one.score, box, moved(one.points, back)))
        found = sorted((one for one in found if one.score >= lowest), key=lambda one: -one.score)[:MOST]
        faces: list[Face] = []
        for face in filter(None, (self._face(pixels, one) for one in found)):
            others = np.array([other.outline for other in faces]).reshape(-1, 4)
            if not (overlap(face.outline, others) > SAME).any():
                faces.append(face)
        faces = faces[:1] + [face for face in faces[1:] if face.score >= FURTHER]
        return sorted(faces, key=lambda face: -face.area())

    def _face(self, pixels: np.ndarray, one: Detection) -> Face | None:
        """A detection that the mesh confirms, with the mesh's points, or None."""
        first = self._mesh(pixels, one.box, one.points[:2])
        second = self._mesh(pixels, outline(first.points), first.centres[:2])
        for seen in (second, first):
            near = one.score >= SURE and apart(seen.centres, one.points[:4]) <= NEAR
            if (seen.presence >= LIKELY or near) and np.isfinite(seen.points).all():
                return Face(one.score, one.box, seen.presence, seen.centres.astype("float32"), outline(seen.points))
        return None

    def _mesh(self, pixels: np.ndarray, box: np.ndarray, eyes: np.ndarray) -> _Seen:
        """The mesh of what lies in and around a box, turned so that the eyes are level and lit like any other."""
        across, middle = eyes[1] - eyes[0], (box[:2] + box[2:]) / 2
        scale = MESH_SIDE / (AROUND * float((box[2:] - box[:2]).max()))
        angle = float(np.arctan2(across[1], across[0]))
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]) * scale
        matrix = np.column_stack([turn, MESH_SIDE / 2 - turn @ middle])
        presence, points = self._models.mesh(evenly_lit(warped(pixels, matrix, MESH_SIDE, edge=True)))
        points = moved(points, inverse(matrix))
        return _Seen(presence, points, np.stack(list(parts(points).values())))
