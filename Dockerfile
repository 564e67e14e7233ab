# The image of Hermes: an application layer built from the lock, on a small Python, for a user without rights.
# No digest is pinned, so that a rebuild takes the base's security fixes; pin one (python:3.11-slim@sha256:…) where
# builds must repeat exactly. scripts/layer is the same one that `make image-size` measures with.

FROM python:3.11-slim AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends binutils tini \
    && rm -rf /var/lib/apt/lists/*
ENV PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# The packages change with the lock, Hermes with every edit: two steps, so that a rebuild does only the second.
COPY scripts scripts
COPY pyproject.toml requirements.lock ./
RUN scripts/layer packages /opt/hermes
COPY README.md LICENSE ./
COPY hermes hermes
RUN scripts/layer hermes /opt/hermes
# What plugins name under "dependencies". A plugin that is mounted later finds what was installed here.
COPY plugins plugins
RUN scripts/layer plugins /opt/hermes
# A container on its own has no Redis; compose.yaml brings one, and mounts the file as it is.
COPY hermes.compose.yaml ./
RUN sed '/redis_url:/d' hermes.compose.yaml >/opt/hermes.yaml


FROM python:3.11-slim
# 1000 is the first user of most Linux hosts: with it a bind-mounted plugins folder stays writable.
ARG HERMES_UID=1000
RUN pip uninstall --yes --quiet --root-user-action=ignore setuptools wheel pip \
    && useradd --uid "$HERMES_UID" --user-group --no-create-home --home-dir /var/lib/hermes \
        --shell /usr/sbin/nologin hermes \
    && install --directory --owner=hermes --group=hermes /app/plugins /var/lib/hermes
COPY --from=build /usr/bin/tini-static /usr/bin/tini
COPY --from=build /opt/hermes /opt/hermes
# The base comes without the standard library's bytecode, and hermes may not write it. For what is used it is 5 MB, and
# the start takes 0.4 s instead of 1.0.
RUN /opt/hermes/bin/python -c 'import hermes.cli.run, hermes.sdk.worker'
COPY --from=build /opt/hermes.yaml /app/hermes.yaml
COPY --chown=hermes:hermes plugins /app/plugins

# Nothing is left to compile but plugins, and those would leave __pycache__ in the folder that people edit.
ENV PATH=/opt/hermes/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER hermes
WORKDIR /app
VOLUME /var/lib/hermes
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s \
    CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8080, timeout=4); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["tini", "--", "hermes"]
CMD ["run", "-c", "/app/hermes.yaml"]
