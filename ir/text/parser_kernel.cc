#include "ir/text/parser_impl.h"
namespace relay::text {
bool Parser::kernel_definition() { return expected("a definition", "expected-definition"); }
}
