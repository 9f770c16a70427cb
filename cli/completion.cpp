// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/verbs.hpp"

namespace fiber::cli {
namespace {

/// A verb as the shells need it.
struct Verb {
  std::string name, summary;
  struct Option {
    std::string name, summary;
    bool value = false;               ///< It takes one.
    std::vector<std::string> choices; ///< Of the value; empty: a file name.
  };
  std::vector<Option> options;
  std::vector<std::string> words; ///< Choices of the first positional argument.
};

/// Reads the choices of CLI::IsMember from its description, "{a,b,c}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  auto text = option.get_type_name();
  auto open = text.find('{'), close = text.find('}');
  std::vector<std::string> words;
  if (open == text.npos || close == text.npos)
    return words;
  std::string word;
  for (char c : text.substr(open + 1, close - open - 1))
    if (c == ',')
      words.push_back(std::exchange(word, {}));
    else
      word += c;
  words.push_back(word);
  return words;
}

Verb read_verb(const CLI::App& app) {
  Verb verb{
    .name = app.get_name(), .summary = app.get_description(), .options = {}, .words = {}};
  for (auto* option : app.get_options()) {
    if (option->get_positional() && verb.words.empty())
      verb.words = choices_of(*option);
    for (auto& name : option->get_lnames())
      verb.options.push_back({.name = "--" + name,
                              .summary = option->get_description(),
                              .value = option->get_items_expected_max() > 0,
                              .choices = choices_of(*option)});
  }
  return verb;
}

std::vector<Verb> read_verbs(const CLI::App& app) {
  std::vector<Verb> verbs;
  for (auto* verb : app.get_subcommands({}))
    verbs.push_back(read_verb(*verb));
  return verbs;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (auto& word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Quotes for a shell, in single quotes. Colons and brackets are escaped where zsh gives
/// them a meaning.
std::string quoted(const std::string& text, bool zsh = false) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'')
      out += "'\\'";
    if (zsh && (c == ':' || c == '[' || c == ']'))
      out += '\\';
    out += c;
  }
  return out + "'";
}

std::string bash_case(const Verb& verb) {
  std::vector<std::string> options, files;
  std::string values;
  for (auto& option : verb.options) {
    options.push_back(option.name);
    if (option.value && !option.choices.empty())
      values +=
        "      " + option.name + ") choices=" + quoted(joined(option.choices)) + " ;;\n";
    else if (option.value)
      files.push_back(option.name);
  }
  std::string text = "  " + verb.name + ")\n    case $previous in\n" + values;
  if (!files.empty()) {
    std::string pattern;
    for (auto& file : files)
      pattern += (pattern.empty() ? "" : "|") + file;
    text += "      " + pattern + ") _fiber_files -f; return ;;\n";
  }
  return text + "      *) choices=" + quoted(joined(verb.words)) +
         "; options=" + quoted(joined(options)) + " ;;\n    esac ;;\n";
}

std::string bash_script(const Verb& command, const std::vector<Verb>& verbs) {
  std::vector<std::string> names;
  std::string cases;
  for (auto& verb : verbs) {
    names.push_back(verb.name);
    cases += bash_case(verb);
  }
  for (auto& option : command.options)
    names.push_back(option.name);
  return "# Completion of fiber for bash.\n"
         "_fiber_files() {\n"
         "  compopt -o filenames\n"
         "  mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$word\")\n"
         "}\n"
         "_fiber() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} "
         "choices= options= i\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W " +
         quoted(joined(names)) +
         " -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  if [[ $word == = ]]; then word=\n" // bash splits --option=value at "=".
         "  elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
         "  for ((i = 2; i < COMP_CWORD; i++)); do\n"
         "    if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
         "      if ((i + 1 == COMP_CWORD)); then _fiber_files -c -f\n"
         "      else _fiber_files -f; fi\n"
         "      return\n"
         "    fi\n"
         "  done\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  if [[ $word == -* ]]; then choices=$options; fi\n"
         "  if [[ $choices ]]; then COMPREPLY=($(compgen -W \"$choices\" -- \"$word\"))\n"
         "  else _fiber_files -f; fi\n"
         "}\n"
         "complete -F _fiber fiber\n";
}

std::string zsh_options(const Verb& verb) {
  std::string text;
  for (auto& option : verb.options) {
    auto spec = quoted(option.name + (option.value ? "=" : ""));
    spec.pop_back();
    auto summary = quoted(option.summary, true);
    spec += "[" + summary.substr(1, summary.size() - 2) + "]";
    if (option.value)
      spec += ":value:" +
              (option.choices.empty() ? "_files" : "(" + joined(option.choices) + ")");
    text += " \\\n        " + spec + "'";
  }
  return text;
}

std::string zsh_case(const Verb& verb) {
  auto text = "    " + verb.name + ")\n      _arguments" + zsh_options(verb);
  text += " \\\n        '*:argument:" +
          (verb.words.empty() ? std::string("_files") : "(" + joined(verb.words) + ")") +
          "'";
  return text + " ;;\n";
}

std::string zsh_script(const Verb& command, const std::vector<Verb>& verbs) {
  std::string names, cases;
  for (auto& verb : verbs) {
    auto summary = quoted(verb.summary, true);
    names += "    '" + verb.name + ":" + summary.substr(1) + "\n";
    cases += zsh_case(verb);
  }
  return "#compdef fiber\n"
         "# Completion of fiber for zsh.\n"
         "_fiber() {\n"
         "  local -a verbs=(\n" +
         names +
         "  )\n"
         "  if ((CURRENT == 2)); then\n"
         "    if [[ $PREFIX == -* ]]; then _arguments" +
         zsh_options(command) +
         "\n"
         "    else _describe 'verb' verbs; fi\n"
         "    return\n"
         "  fi\n"
         "  local -i dashes=${words[(ie)--]}\n"
         "  if ((dashes < CURRENT)); then\n"
         "    shift dashes words\n"
         "    ((CURRENT -= dashes))\n"
         "    _normal -p fiber\n"
         "    return\n"
         "  fi\n"
         "  local verb=$words[2]\n"
         "  shift words\n"
         "  ((CURRENT--))\n"
         "  case $verb in\n" +
         cases +
         "  esac\n"
         "}\n"
         "if [[ $funcstack[1] == _fiber ]]; then _fiber \"$@\"; else compdef _fiber "
         "fiber; fi\n";
}

/// The words behind "--" are completed as a command line of their own.
constexpr const char* fish_functions =
  "# Completion of fiber for fish.\n"
  "function __fiber_verb\n"
  "  set -l words (commandline -opc)\n"
  "  test \"$words[2]\" = \"$argv[1]\"; and not contains -- -- $words\n"
  "end\n"
  "function __fiber_behind_dashes\n"
  "  contains -- -- (commandline -opc)\n"
  "end\n"
  "function __fiber_program\n"
  "  set -l words (commandline -opc)\n"
  "  set -l word (commandline -ct)\n"
  "  set -e words[1..(contains -i -- -- $words)]\n"
  "  complete -C (string join ' ' -- (string escape -- $words) \"$word\")\n"
  "end\n"
  "complete -c fiber -n __fiber_behind_dashes -f -a '(__fiber_program)'\n";

std::string fish_script(const Verb& command, const std::vector<Verb>& verbs) {
  std::string text = fish_functions;
  for (auto& option : command.options)
    text += "complete -c fiber -n __fish_use_subcommand -l " + option.name.substr(2) +
            " -d " + quoted(option.summary) + "\n";
  for (auto& verb : verbs)
    text += "complete -c fiber -n __fish_use_subcommand -f -a " + verb.name + " -d " +
            quoted(verb.summary) + "\n";
  for (auto& verb : verbs) {
    auto when = "complete -c fiber -n '__fiber_verb " + verb.name + "'";
    for (auto& option : verb.options) {
      text += when + " -l " + option.name.substr(2);
      if (option.value)
        text +=
          option.choices.empty() ? " -r" : " -x -a " + quoted(joined(option.choices));
      text += " -d " + quoted(option.summary) + "\n";
    }
    if (!verb.words.empty())
      text += when + " -f -a " + quoted(joined(verb.words)) + "\n";
  }
  return text;
}

} // namespace

void add_completion(CLI::App& app) {
  auto* verb =
    app.add_subcommand("completion", "Print the completion of this command for a shell");
  auto shell = std::make_shared<std::string>();
  verb->add_option("shell", *shell, "The shell")
    ->required()
    ->check(CLI::IsMember({"bash", "fish", "zsh"}));
  verb->footer("Examples:\n"
               "  source <(fiber completion bash)     # in ~/.bashrc\n"
               "  source <(fiber completion zsh)      # in ~/.zshrc, after compinit\n"
               "  fiber completion fish > ~/.config/fish/completions/fiber.fish");
  verb->callback([&app, shell] {
    auto command = read_verb(app);
    auto verbs = read_verbs(app);
    auto text = *shell == "bash"  ? bash_script(command, verbs)
                : *shell == "zsh" ? zsh_script(command, verbs)
                                  : fish_script(command, verbs);
    std::fputs(text.c_str(), stdout);
  });
}

} // namespace fiber::cli
