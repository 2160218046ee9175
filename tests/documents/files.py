"""Files to put in: sound ones in every kind, and hostile ones."""

import io
import struct
import zipfile
import zlib

from docx import Document
from PIL import Image, ImageDraw, ImageFont
from pypdf import PdfWriter
from reportlab.pdfgen import canvas

from apps.documents import storage

FONT = "apps/documents/fonts/NanumSquareR.ttf"


def pdf(*pages):
    """A PDF with a text layer; each page is a string of lines."""
    out = io.BytesIO()
    paper = canvas.Canvas(out)
    for page in pages or ("Total claims: 1,250,000 KRW",):
        for number, line in enumerate(page.splitlines()):
            paper.drawString(72, 760 - 16 * number, line)
        paper.showPage()
    paper.save()
    return out.getvalue()


def picture(text, format="PNG"):
    """What a scanner makes of a text."""
    image = Image.new("L", (1600, 500), 255)
    ImageDraw.Draw(image).text(
        (60, 60), text, font=ImageFont.truetype(FONT, 60), fill=0, spacing=30
    )
    out = io.BytesIO()
    image.save(out, format)
    return out.getvalue()


def scanned_pdf(*texts):
    """A PDF whose pages are pictures."""
    images = [Image.open(io.BytesIO(picture(text))) for text in texts]
    out = io.BytesIO()
    images[0].save(out, "PDF", save_all=True, append_images=images[1:], resolution=200)
    return out.getvalue()


def docx(*paragraphs):
    document, out = Document(), io.BytesIO()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    document.save(out)
    return out.getvalue()


def encrypted_pdf():
    writer, out = PdfWriter(io.BytesIO(pdf())), io.BytesIO()
    writer.encrypt("a secret", algorithm="RC4-128")
    writer.write(out)
    return out.getvalue()


def pdf_of_many_pages(count):
    """One page that the page tree names a thousand times: small, and long."""
    writer, out = PdfWriter(io.BytesIO(pdf())), io.BytesIO()
    for _ in range(count - 1):
        writer.add_blank_page(100, 100)
    writer.write(out)
    return out.getvalue()


def pdf_that_unpacks_to(size):
    """A page whose content is this long once it is unpacked."""
    packed = zlib.compress(b" " * size, 9)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<<>>>>",
        b"<</Filter/FlateDecode/Length %d>>stream\n" % len(packed) + packed + b"\nendstream",
    ]
    body, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n" % number + content + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(body)
    body += b"xref\n0 5\n0000000000 65535 f \n" + table
    return body + b"trailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % start


def png_of_size(width, height):
    """A PNG that says it is this large; unpacked it would be."""
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", head)
        + _chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind, content):
    checked = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + checked


def archive(**parts):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return out.getvalue()


def docx_with(**parts):
    return archive(**{"[Content_Types].xml": "<Types/>", **parts})


def incoming(content):
    return storage.receive([content])
