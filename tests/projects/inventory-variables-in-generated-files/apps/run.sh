#!/bin/sh
echo start
exec "${TARGET}" # warning: [undefined-substitution]
