"""A schema of real size, changed the way releases change one: every change is told, and no other."""

import pytest

from apps.metadata.diff import apply, compare
from apps.metadata.introspection import Address, read
from tests.metadata.test_diff import normal

pytestmark = pytest.mark.django_db

FIRST = """
CREATE SCHEMA clinic;
SET search_path TO clinic;
CREATE TYPE grade AS ENUM ('junior', 'senior');
CREATE TABLE departments (id int PRIMARY KEY, name varchar(60) NOT NULL UNIQUE);
CREATE TABLE doctors (
    id int PRIMARY KEY, name varchar(60) NOT NULL, department_id int REFERENCES departments,
    grade grade NOT NULL DEFAULT 'junior', licence char(8));
CREATE TABLE patients (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, family_name varchar(40) NOT NULL,
    given_name varchar(40) NOT NULL, born date NOT NULL, phone varchar(20), notes text);
CREATE INDEX patients_by_name ON patients (family_name, given_name);
CREATE TABLE visits (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    patient_id bigint NOT NULL REFERENCES patients ON DELETE CASCADE,
    doctor_id int NOT NULL REFERENCES doctors, started_at timestamp NOT NULL,
    ended_at timestamp, fee numeric(8, 2) NOT NULL DEFAULT 0);
CREATE INDEX visits_by_day ON visits (started_at);
CREATE TABLE diagnoses (visit_id bigint REFERENCES visits, code varchar(7), PRIMARY KEY (visit_id, code));
CREATE TABLE drugs (id int PRIMARY KEY, name varchar(100) NOT NULL, strength real);
CREATE TABLE prescriptions (
    id bigint PRIMARY KEY, visit_id bigint NOT NULL REFERENCES visits,
    drug_id int NOT NULL REFERENCES drugs, daily smallint NOT NULL, days smallint NOT NULL);
CREATE TABLE bills (id bigint PRIMARY KEY, visit_id bigint REFERENCES visits, total numeric(10, 2));
CREATE TABLE fax_log (at timestamp, line text);
CREATE VIEW open_visits AS SELECT id, patient_id FROM visits WHERE ended_at IS NULL;
CREATE MATERIALIZED VIEW fees AS SELECT doctor_id, sum(fee) AS total FROM visits GROUP BY doctor_id;
COMMENT ON TABLE patients IS '환자';
COMMENT ON COLUMN patients.born IS 'Day of birth';
"""
RELEASE = """
SET search_path TO clinic;
ALTER TABLE patients RENAME COLUMN phone TO mobile;
ALTER TABLE patients ADD email varchar(200), ALTER family_name TYPE varchar(80);
COMMENT ON TABLE patients IS '환자 기본 정보';
ALTER TABLE doctors ALTER licence TYPE char(6), ALTER grade DROP DEFAULT;
ALTER TABLE drugs ALTER strength TYPE double precision, ALTER strength SET NOT NULL;
ALTER TABLE prescriptions RENAME TO orders;
ALTER TABLE orders ALTER days TYPE int, ADD note text NOT NULL;
ALTER TABLE bills ALTER total TYPE numeric(9, 1);
ALTER TABLE bills DROP CONSTRAINT bills_visit_id_fkey;
ALTER TABLE bills ADD CONSTRAINT bills_visit_id_fkey FOREIGN KEY (visit_id) REFERENCES visits ON DELETE SET NULL;
ALTER TABLE diagnoses DROP CONSTRAINT diagnoses_pkey;
ALTER TABLE diagnoses ADD rank smallint NOT NULL DEFAULT 1, ADD PRIMARY KEY (visit_id, code, rank);
DROP INDEX visits_by_day;
CREATE INDEX visits_by_day ON visits (started_at, doctor_id);
CREATE UNIQUE INDEX doctors_licence ON doctors (licence);
DROP TABLE fax_log;
CREATE TABLE rooms (id int PRIMARY KEY, floor int);
CREATE OR REPLACE VIEW open_visits AS SELECT id, patient_id, doctor_id FROM visits WHERE ended_at IS NULL;
"""
RENAMED = {
    ("column_renamed", "patients", "mobile"): True,
    ("table_renamed", "orders", ""): True,
    ("column_added", "orders", "note"): True,
    ("type_changed", "orders", "days"): False,
}
TOLD = {
    ("column_added", "patients", "email"): False,
    ("type_changed", "patients", "family_name"): False,
    ("comment_changed", "patients", ""): False,
    ("type_changed", "doctors", "licence"): True,
    ("default_changed", "doctors", "grade"): True,
    ("index_added", "doctors", "doctors_licence"): True,
    ("type_changed", "drugs", "strength"): False,
    ("nullable_changed", "drugs", "strength"): True,
    ("type_changed", "bills", "total"): True,
    ("foreign_key_changed", "bills", "bills_visit_id_fkey"): True,
    ("primary_key_changed", "diagnoses", ""): True,
    ("column_added", "diagnoses", "rank"): False,
    ("index_changed", "visits", "visits_by_day"): False,
    ("table_removed", "fax_log", ""): True,
    ("table_added", "rooms", ""): False,
    ("column_added", "open_visits", "doctor_id"): False,
    ("definition_changed", "open_visits", ""): False,
}
# Made anew, nothing has the identity of before: what was renamed went, and another came.
ANEW = {
    ("column_removed", "patients", "phone"): True,
    ("column_added", "patients", "mobile"): False,
    ("table_removed", "prescriptions", ""): True,
    ("table_added", "orders", ""): False,
}


@pytest.fixture
def clinic(erp, add_source, extract):
    erp.run(FIRST)
    datasource = add_source(erp.address, schemas=["clinic"])
    run = extract(datasource)
    assert (run.state, run.tables_count, run.columns_count) == ("DONE", 11, 38)
    return datasource


def told(run):
    assert run.state == "DONE", run.held_because or run.error
    return {(each.kind, each.table, each.name): each.breaking for each in run.changes.all()}


def test_a_release_is_told_change_by_change(clinic, erp, extract):
    erp.run(RELEASE)
    assert told(extract(clinic)) == TOLD | RENAMED


def test_the_same_release_made_anew_claims_no_rename(clinic, erp, extract):
    erp.run(f"DROP SCHEMA clinic CASCADE; {FIRST}")
    assert told(extract(clinic)) == {}
    erp.run(f"DROP SCHEMA clinic CASCADE; {FIRST}")
    erp.run(RELEASE)
    assert told(extract(clinic)) == TOLD | ANEW


def test_what_was_told_leads_from_the_one_to_the_other(clinic, erp):
    before = structure(erp)
    erp.run(RELEASE)
    after = structure(erp)
    assert normal(apply(before, compare(before, after))) == normal(after)


def structure(erp):
    extraction = read(Address(**{**erp.address, "schemas": ("clinic",)}))
    return [each.table() for each in extraction.readings]
