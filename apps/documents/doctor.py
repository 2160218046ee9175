"""What the doctor looks at in documents: the store, and text recognition."""

import os

from django.conf import settings

from apps.documents import ocr
from axiom.doctor import Finding, check, fail, ok, warn


@check("document store", fix="Make DOCUMENTS_DIR a directory that Axiom may write to.")
def document_store() -> Finding:
    folder = settings.DOCUMENTS_DIR
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        return fail(f"{folder} cannot be written")
    return ok(str(folder))


@check(
    "text recognition",
    fix="Install Tesseract where the workers run: apt-get install tesseract-ocr tesseract-ocr-kor.",
)
def text_recognition() -> Finding:
    missing = ocr.missing(look_again=True)
    if missing:
        return warn(f"not there: {', '.join(missing)}; scans wait until it is")
    return ok(f"{settings.DOCUMENTS_TESSERACT}, {settings.DOCUMENTS_OCR_LANGUAGES}")
