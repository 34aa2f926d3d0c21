# One image for the bot and for ingestion; it writes to /data and /tmp alone:
#   docker run … frontdesk                                     serves
#   docker run … frontdesk python -m ingestion sync --all      indexes
FROM python:3.11-slim-bookworm AS packages
WORKDIR /app
COPY requirements.txt .
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements.txt

FROM python:3.11-slim-bookworm
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp HOST=0.0.0.0 PORT=3978 FRONTDESK_DATA_DIR=/data
RUN useradd --system --uid 10001 --home-dir /app frontdesk \
 && install -d -o frontdesk /data
COPY --from=packages /venv /venv
WORKDIR /app
COPY bot bot
COPY rag rag
COPY ingestion ingestion
COPY prompts prompts
COPY infra/sample infra/sample
COPY infra/teams infra/teams
# The root may be mounted read-only, so that nothing is compiled later.
RUN python -m compileall -q bot rag ingestion prompts
USER 10001
VOLUME /data
EXPOSE 3978
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s \
  CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/health', timeout=2)"]
CMD ["python", "-m", "bot", "serve"]
