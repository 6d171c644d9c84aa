#include "config_parser.h"
