/* To be loaded before the C library: the program's wall clock is OFFSET seconds ahead. */
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	int code = (int)syscall(SYS_gettimeofday, now, zone);
	if (code == 0)
		now->tv_sec += OFFSET;
	return code;
}
