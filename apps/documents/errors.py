"""What people are told when a document is refused."""

from axiom.errors import AxiomError


class DocumentRefused(AxiomError):
    """This file cannot be taken in."""

    code, status = "document_refused", 400


class EmptyDocument(DocumentRefused):
    """This file is empty."""

    code = "document_empty"


class DocumentTooLarge(DocumentRefused):
    """This file is larger than documents may be."""

    code, status = "document_too_large", 413


class UnsupportedType(DocumentRefused):
    """Documents are PDF, DOCX, PNG, JPEG, TIFF or plain text files."""

    code, status = "unsupported_document_type", 415


class ContentMismatch(DocumentRefused):
    """The content of this file is not what its name says."""

    code = "content_mismatch"


class AmbiguousDocument(DocumentRefused):
    """This file is two kinds of file at once."""

    code = "document_ambiguous"


class BrokenDocument(DocumentRefused):
    """This file is damaged and cannot be read."""

    code = "document_broken"


class EncryptedDocument(DocumentRefused):
    """This file is protected by a password: remove the protection first."""

    code = "document_encrypted"


class TooManyPages(DocumentRefused):
    """This document has more pages than documents may have."""

    code = "document_too_many_pages"


class DecompressionBomb(DocumentRefused):
    """This file would grow beyond all bounds when unpacked."""

    code = "document_bomb"


class MacrosInDocument(DocumentRefused):
    """This document contains macros: save it without them first."""

    code = "document_macros"


class TakesTooLong(DocumentRefused):
    """This document takes too long to read."""

    code = "document_takes_too_long"


class SameFileAgain(AxiomError):
    """This file is the current version already."""

    code, status = "same_file_again", 409


class StillInProgress(AxiomError):
    """This document is being worked on: wait until that is over."""

    code, status = "document_in_progress", 409


class NothingToDo(AxiomError):
    """There is nothing to do again for a document made from a template."""

    code, status = "nothing_to_do", 409


class NoFileYet(AxiomError):
    """This document has no file yet: its making is not over."""

    code, status = "no_file_yet", 409


class FileMissing(AxiomError):
    """The file of this document is not in the store."""

    code, status = "file_missing", 500


class TemplateFails(AxiomError):
    """The template cannot be filled in with these values."""

    code, status = "template_fails", 400
