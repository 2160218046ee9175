# One image for every process: the command chooses web, worker, celery, beat or migrate.
FROM python:3.12-slim-bookworm AS requirements
RUN python -m venv /opt/venv
COPY requirements.txt .
COPY requirements-kafka.txt .
# `docker build --build-arg KAFKA=1` for EVENTS_BUS=kafka.
ARG KAFKA=
RUN /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check -r requirements.txt \
        ${KAFKA:+-r requirements-kafka.txt}

FROM python:3.12-slim-bookworm
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    AXIOM_PRODUCTION=1 \
    AXIOM_DIR=/var/lib/axiom
# Reads scans; Korean is not among the languages it brings.
RUN apt-get update -qq \
    && apt-get install -qq --yes --no-install-recommends tesseract-ocr tesseract-ocr-kor \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --system --uid 10001 --home-dir /var/lib/axiom axiom \
    && install --directory --owner axiom --group axiom /var/lib/axiom /var/lib/axiom/metrics \
        /var/lib/axiom/documents
COPY --from=requirements /opt/venv /opt/venv
WORKDIR /srv/axiom
COPY manage.py ./
COPY axiom axiom
COPY apps apps
COPY templates templates
COPY static static
COPY locale locale
# Needs the settings, not the servers they name.
RUN SECRET_KEY=only-to-collect-static-files DATABASE_URL=postgres://none/none \
    REDIS_URL=redis://none AXIOM_DIR=/tmp/axiom \
    python manage.py collectstatic --no-input --verbosity 0
USER axiom
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-m", "axiom", "healthy"]
ENTRYPOINT ["python", "-m", "axiom"]
CMD ["web"]
