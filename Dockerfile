# docker build -t spacil .
# mkdir -p runs
# docker run --rm --user "$(id -u)" -e HOME=/tmp -v "$PWD/runs:/app/runs" spacil train spacil --task Hopper-v4
# --user: the run folder belongs to you, as does everything that is written into it.
FROM python:3.11-slim

# Your own index, e.g. for a torch without CUDA: --build-arg PIP_EXTRA_INDEX_URL=...
ARG PIP_EXTRA_INDEX_URL=""

# OpenGL without a display, for `spacil video`.
RUN apt-get update && apt-get install -y --no-install-recommends libegl1 \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir -c constraints.txt '.[export,hdf5,report,video]' \
    && useradd --create-home spacil \
    && install -d -o spacil /app

USER spacil
WORKDIR /app
RUN spacil tasks
ENTRYPOINT ["spacil"]
CMD ["--help"]
