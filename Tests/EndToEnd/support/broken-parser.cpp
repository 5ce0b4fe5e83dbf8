// To be loaded before the C++ library: the parser of settings crashes, hangs, or takes all memory when it refuses a
// file because of one of the keys below.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <typeinfo>

static void fail(const char *text)
{
	if (std::strstr(text, "'abort'"))
		std::abort();
	if (std::strstr(text, "'segv'"))
		std::raise(SIGSEGV);
	if (std::strstr(text, "'hang'"))
		for (;;)
			std::signal(SIGUSR1, SIG_IGN);
	// One byte of each piece: to fill all of them takes a busy machine longer than the parser has.
	if (std::strstr(text, "'memory'"))
		for (;;)
			*static_cast<volatile char *>(std::malloc(1 << 20)) = 1;
}

extern "C" void __cxa_throw(void *thrown, std::type_info *type, void (*destroy)(void *))
{
	if (std::strstr(type->name(), "parse_error"))
		fail(static_cast<std::exception *>(thrown)->what());
	using Throw = void (*)(void *, std::type_info *, void (*)(void *));
	reinterpret_cast<Throw>(dlsym(RTLD_NEXT, "__cxa_throw"))(thrown, type, destroy);
	std::abort();
}
