# Completion of llmmem and its tools in bash: source this file, or install it as bash-completion's completions/llmmem. In zsh, run
# `autoload -U bashcompinit && bashcompinit` before. What can follow is what --help lists.

_llmmem() {
  local current=${COMP_WORDS[COMP_CWORD]} tool=${COMP_WORDS[0]##*/}
  if [ "$tool" = llmmem ]; then
    if [ "$COMP_CWORD" -eq 1 ]; then
      COMPREPLY=($(compgen -W "$(llmmem --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p')" -- "$current"))
      return
    fi
    tool="llmmem ${COMP_WORDS[1]}"
  fi
  if [ "${current#-}" != "$current" ]; then
    COMPREPLY=($(compgen -W "$($tool --help 2>/dev/null | grep -o -- '--[a-z0-9-]*' | sort -u)" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}

complete -o filenames -F _llmmem llmmem llmmem-fit llmmem-import llmmem-opt llmmem-plan llmmem-run llmmem-study llmmem-bundle \
  llmmem-replay llmmem-emulate llmmem-commbench
