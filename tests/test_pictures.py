"""Bytes from outside: every format and mode, size and rotation, and damage of every kind."""

import io
import warnings

import numpy as np
import pytest
from PIL import Image, ImageOps
from samples import encode, noise, png

from backend import pictures
from backend.pictures import MODEL_SIDE, PictureError, read_for_model, read_picture, read_pixels

pytestmark = pytest.mark.filterwarnings("ignore:::PIL")
"""As the command line does: Pillow also warns of what it reads well."""

KINDS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "AVIF")
RED = (255, 0, 0)


def shown(data):
    """The thumbnail of a file, as RGB pixels."""
    image = Image.open(io.BytesIO(read_picture(data).thumbnail))
    assert image.format == "WEBP"
    assert image.mode == "RGB"
    return np.asarray(image).astype(int)


def near(pixels, colour, off=12):
    return np.abs(pixels.reshape(-1, 3).mean(axis=0) - colour).max() < off


@pytest.mark.parametrize("kind", KINDS)
def test_every_format(kind):
    picture = read_picture(encode(noise(size=(700, 300)), kind))
    assert (picture.format, picture.width, picture.height, picture.animated) == (kind, 700, 300, False)
    assert Image.open(io.BytesIO(picture.thumbnail)).size == (256, 110)


def test_a_small_picture_is_not_enlarged():
    assert Image.open(io.BytesIO(read_picture(png(size=(24, 16))).thumbnail)).size == (24, 16)


@pytest.mark.parametrize("size", [(3000, 2), (2, 3000), (1, 1)])
def test_extreme_proportions(size):
    picture = read_picture(png(size=size))
    assert (picture.width, picture.height) == size
    assert max(Image.open(io.BytesIO(picture.thumbnail)).size) <= 256


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_every_mode_of_png(mode):
    plain = Image.new("L", (8, 8), 255)
    image = Image.new("I;16", (8, 8), 65535) if mode == "I;16" else plain.convert("RGB").convert(mode)
    assert near(shown(encode(image)), (255, 255, 255))


def test_cmyk_jpeg_has_sane_colours():
    data = encode(Image.new("RGB", (64, 64), RED).convert("CMYK"), "JPEG", quality=95)
    assert Image.open(io.BytesIO(data)).mode == "CMYK"
    assert near(shown(data), RED)
    assert near(read_pixels(data), RED)


def test_sixteen_bits_are_scaled_not_clipped():
    ramp = np.linspace(0, 65535, 256 * 256).reshape(256, 256).astype(np.uint16)
    data = encode(Image.fromarray(ramp))
    pixels = read_pixels(data)
    assert (pixels[..., 0] == ramp >> 8).all()
    assert np.abs(shown(data)[..., 0] - (ramp >> 8)).max() < 12
    dark = encode(Image.fromarray(np.full((8, 8), 200, dtype=np.uint16)))
    assert read_pixels(dark).max() == 0


@pytest.mark.parametrize("kind", ["PNG", "GIF", "WEBP", "AVIF"])
def test_transparency_lies_on_white(kind):
    image = Image.new("RGBA", (64, 64), (0, 0, 0, 0))
    assert near(shown(encode(image, kind)), (255, 255, 255))


def test_palette_with_alpha_lies_on_white():
    image = Image.new("P", (64, 64), 1)
    image.putpalette([0, 0, 0, *RED])
    image.paste(0, (0, 0, 64, 32))
    data = encode(image, transparency=bytes([0, 255]))
    assert near(shown(data)[:24], (255, 255, 255))
    assert near(shown(data)[40:], RED)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF"])
def test_rotated_photographs_stand_upright(kind, orientation):
    image = Image.new("RGB", (600, 400), (0, 0, 255))
    image.paste(RED, (0, 0, 300, 200))  # a red quarter shows where up and left are
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encode(image, kind, exif=exif)
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
    picture = read_picture(data)
    assert (picture.width, picture.height) == upright.size
    assert picture.width == (600 if orientation < 5 else 400)
    upright.thumbnail((256, 256))
    assert np.abs(shown(data) - np.asarray(upright)).mean() < 6
    assert read_pixels(data).shape == (picture.height, picture.width, 3)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_the_first_frame_stands_for_a_moving_picture(kind):
    frames = [Image.new("RGB", (32, 32), colour) for colour in (RED, (0, 255, 0), (0, 0, 255))]
    data = encode(frames[0], kind, save_all=True, append_images=frames[1:], duration=100)
    assert read_picture(data).animated
    assert near(shown(data), RED)


def test_a_thumbnail_holds_no_metadata():
    exif = Image.Exif()
    exif[0x010E] = "a secret place"
    data = encode(noise(), "JPEG", exif=exif, icc_profile=b"profile" * 40)
    thumbnail = Image.open(io.BytesIO(read_picture(data).thumbnail))
    assert not thumbnail.getexif()
    assert "icc_profile" not in thumbnail.info


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ["0 bytes", "export"]),
        (b"Dear Sir,\n", ["no picture", "JPEG, PNG"]),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", ["no picture"]),
        (b"%PDF-1.4", ["no picture"]),
        (encode(noise(), "TIFF"), ["no picture"]),
        (encode(noise(), "JPEG")[:400], ["damaged", "export"]),
        (png(size=(100, 100))[:2000], ["damaged", "export"]),
        (encode(noise(size=(100, 100)), "WEBP")[:300], ["export"]),
    ],
)
def test_what_is_no_picture_is_refused_with_a_remedy(data, words):
    for read in (read_picture, read_pixels):
        with pytest.raises(PictureError) as refused:
            read(data)
        assert all(word in str(refused.value) for word in words), str(refused.value)


def bomb(width, height):
    """A small file of a huge picture."""
    return encode(Image.new("1", (width, height)), "PNG")


def test_a_bomb_is_refused_before_it_is_decoded():
    data = bomb(20_000, 20_000)
    assert len(data) < 100_000
    with pytest.raises(PictureError, match=r"pixels, more than the limit of 64,000,000; scale it down"):
        read_picture(data)
    with pytest.raises(PictureError, match=r"9,000 x 8,000 = 72,000,000 pixels.* or raise --max-megapixels"):
        read_picture(bomb(9_000, 8_000))
    with pytest.raises(PictureError, match=r"24 x 16 = 384 pixels, more than the limit of 383"):
        read_picture(png(), max_pixels=383)
    assert read_picture(png(), max_pixels=384)


def test_what_pillow_itself_refuses_is_told_without_a_false_remedy():
    with pytest.raises(PictureError, match="over 178 million pixels, more than the limit of 178,000,000") as refused:
        read_picture(bomb(20_000, 20_000), max_pixels=10**9)
    assert "--max-megapixels" not in str(refused.value)


def test_files_of_too_many_bytes_are_refused(monkeypatch):
    monkeypatch.setattr(pictures, "MAX_BYTES", 100)
    with pytest.raises(PictureError, match="more than the limit of 100"):
        read_picture(png())


def damaged(data, random):
    """A file with a few bytes changed, or its end cut off, or a piece of it gone."""
    changed = bytearray(data)
    for place in random.integers(0, len(data), random.integers(1, 20)):
        changed[place] = random.integers(0, 256)
    kind = random.integers(0, 4)
    if kind == 0:
        return bytes(changed[: random.integers(1, len(data))])
    if kind == 1:
        start = random.integers(0, len(data))
        return bytes(changed[:start] + changed[start + random.integers(1, 50) :])
    return bytes(changed)


@pytest.mark.parametrize("kind", KINDS)
def test_damage_raises_picture_errors_and_nothing_else(kind):
    random = np.random.default_rng(KINDS.index(kind))
    exif = Image.Exif()
    exif[0x0112] = 6
    image = noise(size=(40, 30))
    options = {} if kind in ("GIF", "BMP") else {"exif": exif}
    if kind in ("GIF", "WEBP"):  # AVIF's encoder crashes on a rotated animation
        options |= {"save_all": True, "append_images": [noise(1, (40, 30))]}
    data = encode(image, kind, **options)
    read = refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in range(250):
            broken = damaged(data[: 200 if case % 3 == 0 else None], random)
            for function in (read_picture, read_pixels):
                try:
                    function(broken, 1_000_000)
                    read += 1
                except PictureError as error:
                    assert str(error)
                    refused += 1
    assert refused > 50
    assert read + refused == 500


def progressive() -> bytes:
    return encode(noise(1, (200, 120)), "JPEG", progressive=True)


def with_scans(times: int) -> bytes:
    """A progressive JPEG whose last scan is there so many times more."""
    data = progressive()
    last, end = data.rindex(b"\xff\xda"), data.rindex(b"\xff\xd9")
    return data[:end] + data[last:end] * times + data[end:]


def test_a_jpeg_of_very_many_scans_is_refused_before_it_is_decoded(monkeypatch):
    monkeypatch.setattr(pictures.Image, "open", lambda *told, **more: pytest.fail("opened"))
    for read in (read_picture, read_pixels, pictures.read_facts):
        with pytest.raises(PictureError, match="a JPEG of more than 100 scans; save it anew"):
            read(with_scans(200))


def test_a_progressive_jpeg_passes():
    data = progressive()
    assert data.count(b"\xff\xda") > 5
    assert pictures._scans(data) == data.count(b"\xff\xda")
    assert pictures._scans(with_scans(40)) == pictures._scans(data) + 40
    assert read_picture(data).format == "JPEG"


@pytest.mark.parametrize("head", [b"", b"\x00\x00\x00\x18ftypmp42"])
def test_what_follows_a_jpeg_is_not_taken_for_scans(head):
    """As in a motion photo, whose film follows the picture."""
    tail = head + np.random.default_rng(0).bytes(5_000_000)
    assert tail.count(b"\xff\xda") > 30
    for data in (progressive(), encode(noise(1, (200, 120)), "JPEG")):
        assert pictures._scans(data + tail + b"\xff\xda" * 300) == pictures._scans(data)
        assert read_picture(data + tail).width == 200


def test_restart_markers_and_thumbnails_hold_no_scans():
    exif = Image.Exif()
    exif[0x010E] = "x\xff\xda" * 200  # inside a part whose length is known
    data = encode(noise(1, (200, 120)), "JPEG", restart_marker_blocks=1, exif=exif)
    assert data.count(b"\xff\xd0") > 5
    assert pictures._scans(data) == 1


@pytest.mark.parametrize(("size", "seen"), [((5000, 1000), (MODEL_SIDE, 410)), ((300, 200), (300, 200))])
def test_what_a_model_is_shown_has_a_size_of_which_a_batch_fits_into_memory(size, seen):
    picture = read_for_model(encode(Image.new("RGB", size, RED), "JPEG"))
    assert (picture.size, picture.mode) == (seen, "RGB")
    assert near(np.asarray(picture).astype(int), RED)
