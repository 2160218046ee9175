#!/bin/sh
# Runs once, when PostgreSQL makes its data directory: the application's own role and database.
# It is neither superuser nor above row security, so what the database forbids it holds.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --set password="$AXIOM_DATABASE_PASSWORD" <<'SQL'
CREATE ROLE axiom LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE PASSWORD :'password';
CREATE DATABASE axiom OWNER axiom;
\connect axiom
CREATE EXTENSION IF NOT EXISTS vector;
SQL
