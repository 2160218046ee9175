"""Korean is whole: every string that people read is found, and every one is translated."""

import polib
import pytest
from django.apps import apps
from django.contrib import admin
from django.utils.functional import Promise

from axiom import translation
from axiom.translation import Message


@pytest.fixture(scope="module")
def catalog():
    return polib.pofile(str(translation.CATALOG), wrapwidth=99)


def test_nothing_is_missing_fuzzy_unused_or_broken_in_korean(catalog):
    assert translation.problems(catalog, translation.wanted()) == []


def test_the_compiled_catalog_is_the_one_that_was_translated(catalog):
    assert not translation.stale(catalog), "run `make messages`"


def shown():
    """Our models that the console shows."""
    return [model for model in admin.site._registry if model.__module__.startswith("apps.")]


@pytest.mark.parametrize("model", shown(), ids=lambda model: model._meta.label)
def test_what_the_console_shows_has_names_that_can_be_translated(model):
    hidden = admin.site._registry[model].exclude or ()
    named = {"": model._meta.verbose_name, "s": model._meta.verbose_name_plural}
    named |= {
        field.name: field.verbose_name
        for field in model._meta.get_fields()
        if hasattr(field, "verbose_name") and field.name not in {"id", *hidden}
    }
    assert [name for name, text in named.items() if not isinstance(text, Promise)] == []


def test_apps_have_names_that_can_be_translated():
    mine = [app for app in apps.get_app_configs() if app.name.startswith("apps.")]
    assert all(isinstance(app.verbose_name, Promise) for app in mine)


def test_strings_in_python_are_found():
    source = """
_("plain"); gettext_lazy("lazy" " and joined"); gettext(f"not {this}"); other("nor this")
ngettext("%(n)d apple", "%(n)d apples", n); pgettext("verb", "open")
translation.gettext("by attribute")
"""
    assert list(translation.messages_in_python(source)) == [
        Message("plain"),
        Message("lazy and joined"),
        Message("%(n)d apple", "%(n)d apples"),
        Message("open", "", "verb"),
        Message("by attribute"),
    ]


def test_strings_in_templates_are_found():
    source = """{% load i18n %}{% translate "It's 5" %} {{ _("a constant") }}
{% blocktranslate trimmed with name=x %}
    Hello {{ name }}
{% endblocktranslate %}
{% blocktranslate count n=n %}{{ n }} day{% plural %}{{ n }} days{% endblocktranslate %}
{% translate "open" context "verb" %}{# translate "a comment" #}"""
    assert list(translation.messages_in_template(source)) == [
        Message("It's 5"),
        Message("a constant"),
        Message("Hello %(name)s"),
        Message("%(n)s day", "%(n)s days"),
        Message("open", "", "verb"),
    ]


def test_a_class_far_down_a_family_speaks_by_its_docstring():
    source = '''
class AxiomError(Exception):
    """Wrong."""
class Missing(AxiomError):
    """Not
    there.

    Told to nobody.
    """
class Lost(Missing):
    """Gone."""
class Other:
    """Silent."""
'''
    told = {message.text for message in translation.sentences([source], "AxiomError")}
    assert told == {"Wrong.", "Not there.", "Gone."}


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (polib.POEntry(msgid="a"), "untranslated"),
        (polib.POEntry(msgid="a", msgstr="가", flags=["fuzzy"]), "fuzzy"),
        (polib.POEntry(msgid="%(n)s a", msgstr="가"), "placeholders"),
        (polib.POEntry(msgid="{n} a", msgstr="{m} 가"), "placeholders"),
        (polib.POEntry(msgid="b", msgstr="나"), "unused"),
        (None, "missing"),
    ],
)
def test_whatever_would_show_english_is_complained_about(entry, complaint):
    catalog = polib.POFile()
    catalog.extend([entry] if entry else [])
    message = Message(entry.msgid if entry and entry.msgid != "b" else "a")
    assert any(complaint in text for text in translation.problems(catalog, [message]))


def test_an_update_keeps_translations_and_drops_what_nobody_says():
    catalog = polib.POFile()
    catalog.append(polib.POEntry(msgid="kept", msgstr="유지"))
    catalog.append(polib.POEntry(msgid="gone", msgstr="삭제"))
    translation.update(catalog, [Message("kept"), Message("new")])
    assert {entry.msgid: entry.msgstr for entry in catalog} == {"kept": "유지", "new": ""}
